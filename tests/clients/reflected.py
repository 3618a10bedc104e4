"""A gRPC client that knows only the server's address: it asks the reflection service for the file descriptors, and
builds messages from them. It has no .proto and no generated code; only the few messages of reflection and health are
written down here.

It needs Debian's python3-grpcio and python3-protobuf (/usr/bin/python3).
"""

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DEADLINE_SECONDS = 300  # per call; usual is far below a second, but test machines are slow and busy

REFLECTION = "grpc.reflection.v1alpha.ServerReflection"
HEALTH = "grpc.health.v1.Health"
_SERVING = 1


def _file(package, messages):
    """Makes a file of `messages`, a dict from a name to (field, number, type[, repeated]) tuples."""
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=package.replace(".", "/") + ".proto", package=package, syntax="proto3")
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for name, number, kind, *repeated in fields:
            field = message.field.add(name=name, number=number)
            field.label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            if kind in ("string", "bytes", "int32"):
                field.type = getattr(field_type, "TYPE_" + kind.upper())
            else:
                field.type = field_type.TYPE_MESSAGE
                field.type_name = f".{package}.{kind}"
    return file


# The fields in use of grpc/reflection/v1alpha/reflection.proto and grpc/health/v1/health.proto. (An enum is an int32 on
# the wire.)
_BOOTSTRAP = [
    _file("grpc.reflection.v1alpha", {
        "ServerReflectionRequest": [("file_by_filename", 3, "string"),
                                    ("file_containing_symbol", 4, "string"),
                                    ("list_services", 7, "string")],
        "FileDescriptorResponse": [("file_descriptor_proto", 1, "bytes", "repeated")],
        "ServiceResponse": [("name", 1, "string")],
        "ListServiceResponse": [("service", 1, "ServiceResponse", "repeated")],
        "ErrorResponse": [("error_code", 1, "int32"), ("error_message", 2, "string")],
        "ServerReflectionResponse": [("file_descriptor_response", 4, "FileDescriptorResponse"),
                                     ("list_services_response", 6, "ListServiceResponse"),
                                     ("error_response", 7, "ErrorResponse")],
    }),
    _file("grpc.health.v1", {
        "HealthCheckRequest": [("service", 1, "string")],
        "HealthCheckResponse": [("status", 1, "int32")],
    }),
]


class ReflectedClient:
    """Calls methods by name, with requests as keyword arguments. It shows a bearer token or a client certificate, the
    names of whose files are `certificate` with .key and .crt, if it is given one.
    """

    def __init__(self, server, ca_file, options=(), token=None, certificate=None):
        def read(path):
            with open(path, "rb") as file:
                return file.read()

        own = (read(f"{certificate}.key"), read(f"{certificate}.crt")) if certificate else ()
        self.channel = grpc.secure_channel(server, grpc.ssl_channel_credentials(read(ca_file), *own),
                                           options=list(options))
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._pool = descriptor_pool.DescriptorPool()
        self._factory = message_factory.MessageFactory(self._pool)
        self._known_files = set()
        for file in _BOOTSTRAP:
            self._add(file)

    def close(self):
        self.channel.close()

    def healthy(self, service=""):
        response = self._unary(HEALTH, "Check", "grpc.health.v1.HealthCheckRequest",
                               "grpc.health.v1.HealthCheckResponse", {"service": service})
        return response.status == _SERVING

    def services(self):
        response = self._reflect(list_services="*")
        return [service.name for service in response.list_services_response.service]

    def call(self, service, method, **request):
        """Returns the response of a unary method; raises grpc.RpcError if the call fails."""
        described = self._service(service).FindMethodByName(method)
        if described is None:
            raise LookupError(f"reflection knows no method {method} of {service}")
        return self._unary(service, method, described.input_type.full_name,
                           described.output_type.full_name, request)

    def describe(self, service):
        """Learns the messages of a service, and those in files beside them."""
        return self._service(service)

    def message(self, name, serialized=b""):
        """Parses a message of the type `name` from bytes."""
        message = self._type(name)()
        message.ParseFromString(serialized)
        return message

    def encoded(self, name, **fields):
        """The bytes of a message of the type `name`, known since describe() or a call."""
        return self._type(name)(**fields).SerializeToString()

    def _type(self, name):
        return self._factory.GetPrototype(self._pool.FindMessageTypeByName(name))

    def _service(self, name):
        try:
            return self._pool.FindServiceByName(name)
        except KeyError:
            self._learn(file_containing_symbol=name)
            return self._pool.FindServiceByName(name)

    def _learn(self, **question):
        """Adds the files of an answer, and asks for the missing files that they need."""
        response = self._reflect(**question)
        files = {}
        for serialized in response.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
            files[file.name] = file

        def add(file):
            for needed in file.dependency:
                if needed in files:
                    add(files[needed])
                elif needed not in self._known_files:
                    self._learn(file_by_filename=needed)
            self._add(file)

        for file in files.values():
            add(file)

    def _add(self, file):
        if file.name not in self._known_files:
            self._pool.AddSerializedFile(file.SerializeToString())
            self._known_files.add(file.name)

    def _reflect(self, **question):
        request = self._type("grpc.reflection.v1alpha.ServerReflectionRequest")
        response = self._type("grpc.reflection.v1alpha.ServerReflectionResponse")
        ask = self.channel.stream_stream(f"/{REFLECTION}/ServerReflectionInfo",
                                         request_serializer=request.SerializeToString,
                                         response_deserializer=response.FromString)
        answer = next(ask(iter([request(**question)]), timeout=DEADLINE_SECONDS, metadata=self._metadata))
        if answer.HasField("error_response"):
            raise LookupError(f"reflection of {question}: {answer.error_response.error_message}")
        return answer

    def _unary(self, service, method, request_name, response_name, request):
        request_type, response_type = self._type(request_name), self._type(response_name)
        stub = self.channel.unary_unary(f"/{service}/{method}",
                                        request_serializer=request_type.SerializeToString,
                                        response_deserializer=response_type.FromString)
        return stub(request_type(**request), timeout=DEADLINE_SECONDS, metadata=self._metadata)
