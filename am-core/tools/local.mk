# am-core/tools
