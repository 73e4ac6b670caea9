# am-core/msg
