# am-core/chan
