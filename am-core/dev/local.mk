# am-core/dev
