# am-core/base
