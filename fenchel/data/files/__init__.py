"""Tables in files: Parquet, CSV and .npy, parsed once and mapped into memory."""
