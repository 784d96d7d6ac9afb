"""fenchel"""
