"""Messages and stubs of the wire: made by protoc from proto/coppice/v1 when the package is built."""
