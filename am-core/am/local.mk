# am-core/am
