"""Writes ONNX files with nothing but Python's standard library (3.8 or later).

    import onnxwrite as ox

    m = ox.Model("filter", opset=13, seed=1)
    x = m.input("x", [1, 3, 64, 64])
    w = m.weight([8, 3, 3, 3])                      # uniform, scaled by its fan-in; from the model's seed
    b = m.tensor("b", [8], [0.0] * 8)               # any numbers
    y = m.node("Conv", [x, w, b], pads=[1, 1, 1, 1])
    y = m.node("Relu", [y], name="/net/1")
    m.output(y, [1, 8, 64, 64])
    m.save("filter.onnx")

Values are named by strings: input(), weight(), tensor(), node() return the name to be used by others.
`node(..., outputs=3)` or `outputs=["a", "b"]` returns a list. A missing optional operand is "" or None.

Attributes are keyword arguments and take their type from Python's: int, float, str or bytes, bool (as int), a list of
these (a list with a float in it is of floats; an empty one is of ints), a Tensor, a Graph. An attribute whose name is
Python's (`to_`, `axis_`) may end in one `_`.

Lower levels, for damaged or unusual files: the functions message_*() give the bytes of one message, and field_*() of
one field. The same input gives the same bytes, everywhere.
"""

import random
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
UINT4, INT4 = 21, 22

# How one element is packed in raw_data, and the field of TensorProto that takes it otherwise.
_PACK = {FLOAT: "f", UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", INT32: "i", INT64: "q", BOOL: "?",
         FLOAT16: "e", DOUBLE: "d", UINT32: "I", UINT64: "Q"}
_FIELD = {FLOAT: 4, INT64: 7, DOUBLE: 10, UINT32: 11, UINT64: 11}


# ---- the wire ----

def varint(n):
    """A base-128 number; negative ones as 64-bit two's complement, as protobuf does."""
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _bytes(value):
    return value.encode("utf-8") if isinstance(value, str) else bytes(value)


def field_int(number, value):
    return varint(number << 3) + varint(value)


def field_float(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def field_bytes(number, value):
    value = _bytes(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def _field_text(number, value):
    return field_bytes(number, value) if value else b""


# ---- messages ----

def count(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def pack(kind, values):
    """The elements as raw_data has them: little-endian, two to a byte for 4-bit types."""
    values = list(values)
    if kind in (UINT4, INT4):
        values += [0] * (len(values) % 2)
        return bytes(values[i] & 15 | (values[i + 1] & 15) << 4 for i in range(0, len(values), 2))
    return struct.pack("<%d%s" % (len(values), _PACK[kind]), *values)


def unpack(kind, raw):
    """The elements of raw_data; not of 4-bit types."""
    return list(struct.unpack("<%d%s" % (len(raw) // struct.calcsize("<" + _PACK[kind]), _PACK[kind]), raw))


class Tensor:
    """A tensor. storage: "raw" (raw_data), "typed" (float_data, int32_data …), or "external" (Model.save() puts the
    bytes in a file next to the model)."""

    def __init__(self, dims, values, kind=FLOAT, name="", storage="raw"):
        self.dims, self.kind, self.name, self.storage = list(dims), kind, name, storage
        self.values = list(values)
        if len(self.values) != count(self.dims):
            raise ValueError("%s: %d values for %r" % (name, len(self.values), self.dims))


class Reference:
    """An attribute of a function's node whose value is the call's attribute of that name; like: a value of its type."""

    def __init__(self, name, like):
        self.name, self.like = name, like


def message_tensor(t, external=None):
    """external: (location, offset, length) of a tensor whose storage is "external"."""
    out = b"".join(field_int(1, d) for d in t.dims) + field_int(2, t.kind)
    raw = pack(t.kind, t.values) if t.kind != STRING else b""
    if t.kind == STRING:
        out += b"".join(field_bytes(6, v) for v in t.values)
    elif t.storage == "typed" and t.kind in (FLOAT, DOUBLE):
        out += field_bytes(_FIELD[t.kind], raw)
    elif t.storage == "typed":
        ints = struct.unpack("<%dH" % len(t.values), raw) if t.kind == FLOAT16 else t.values
        if t.kind in (UINT4, INT4):
            ints = raw
        out += field_bytes(_FIELD.get(t.kind, 5), b"".join(varint(int(v)) for v in ints))
    out += _field_text(8, t.name)
    if external:
        for key, value in zip(("location", "offset", "length"), external):
            out += field_bytes(13, field_bytes(1, key) + field_bytes(2, str(value)))
        out += field_int(14, 1)
    elif t.storage != "typed" and t.kind != STRING:
        out += field_bytes(9, raw)
    return out


def message_value(name, dims, kind=FLOAT):
    """ValueInfo. A dimension is a number, a name (a symbolic one) or None (unknown); dims None: without a shape."""
    shape = b""
    for d in dims or []:
        if d is None:
            shape += field_bytes(1, b"")
        elif isinstance(d, str):
            shape += field_bytes(1, field_bytes(2, d))
        else:
            shape += field_bytes(1, field_int(1, d))
    kind = field_int(1, kind) + (field_bytes(2, shape) if dims is not None else b"")
    return field_bytes(1, name) + field_bytes(2, field_bytes(1, kind))


def attribute_type(value):
    """AttributeProto's type of a value."""
    if isinstance(value, (list, tuple)):
        first = value[0] if value else 0
        return 6 if any(isinstance(v, float) for v in value) else attribute_type(first) + 5
    kinds = ((Tensor, 4), (Graph, 5), (float, 1), (int, 2), ((str, bytes), 3))
    return next(number for kind, number in kinds if isinstance(value, kind))


def message_attribute(name, value):
    out = field_bytes(1, name)
    if isinstance(value, Reference):
        return out + field_bytes(21, value.name) + field_int(20, attribute_type(value.like))
    if isinstance(value, Tensor):
        return out + field_bytes(5, message_tensor(value)) + field_int(20, 4)
    if isinstance(value, Graph):
        return out + field_bytes(6, value.message()) + field_int(20, 5)
    if isinstance(value, float):
        return out + field_float(2, value) + field_int(20, 1)
    if isinstance(value, int):
        return out + field_int(3, int(value)) + field_int(20, 2)
    if isinstance(value, (str, bytes)):
        return out + field_bytes(4, value) + field_int(20, 3)
    value = list(value)
    if value and isinstance(value[0], (str, bytes)):
        return out + b"".join(field_bytes(9, v) for v in value) + field_int(20, 8)
    if any(isinstance(v, float) for v in value):
        return out + b"".join(field_float(7, v) for v in value) + field_int(20, 6)
    return out + b"".join(field_int(8, v) for v in value) + field_int(20, 7)


def message_node(op, inputs, outputs, name="", domain="", attributes=None):
    out = b"".join(field_bytes(1, i or "") for i in inputs)
    out += b"".join(field_bytes(2, o) for o in outputs)
    out += _field_text(3, name) + field_bytes(4, op)
    for key, value in (attributes or {}).items():
        out += field_bytes(5, message_attribute(key[:-1] if key.endswith("_") else key, value))
    return out + _field_text(7, domain)


def message_imports(number, opset):
    return b"".join(field_bytes(number, _field_text(1, domain) + field_int(2, version)) for domain, version in opset.items())


# ---- builders ----

class Graph:
    """Nodes, initializers, inputs and outputs, in the order in which they are given."""

    def __init__(self, name="graph", seed=0):
        self.name = name
        self.random = random.Random(seed)
        self.nodes, self.inputs, self.outputs, self.values, self.tensors = [], [], [], [], []
        self._names = 0

    def fresh(self, stem):
        self._names += 1
        return "%s_%d" % (stem, self._names)

    def input(self, name, dims, kind=FLOAT):
        self.inputs.append(message_value(name, dims, kind))
        return name

    def output(self, name, dims, kind=FLOAT):
        self.outputs.append(message_value(name, dims, kind))
        return name

    def value(self, name, dims, kind=FLOAT):
        """Records the shape of an inner value."""
        self.values.append(message_value(name, dims, kind))
        return name

    def tensor(self, name, dims, values, kind=FLOAT, storage="raw"):
        """An initializer."""
        name = name or self.fresh("constant")
        self.tensors.append(Tensor(dims, values, kind, name, storage))
        return name

    def ints(self, values, name=None):
        """An int64 initializer with one axis: shapes, axes, pads."""
        return self.tensor(name, [len(values)], values, INT64)

    def number(self, value, name=None):
        """A float32 initializer without axes."""
        return self.tensor(name, [], [value])

    def uniform(self, n, low, high):
        return [low + (high - low) * self.random.random() for _ in range(n)]

    def weight(self, dims, name=None, scale=None, low=None, high=None, kind=FLOAT, storage="raw"):
        """An initializer of random numbers in low..high, by default -s..s with s = scale, by default sqrt(3 / fan-in):
        values then keep their magnitude from layer to layer. The fan-in is the product of all dims but the first."""
        if low is None:
            if scale is None:
                scale = (3.0 / max(1, count(dims[1:]))) ** 0.5
            low, high = -scale, scale
        return self.tensor(name or self.fresh("weight"), dims, self.uniform(count(dims), low, high), kind, storage)

    def node(self, op, inputs, outputs=1, name="", domain="", **attributes):
        names = outputs
        if isinstance(outputs, int):
            names = [self.fresh(op.lower()) for _ in range(outputs)]
        elif isinstance(outputs, str):
            names = [outputs]
        self.nodes.append(message_node(op, inputs, names, name, domain, attributes))
        return names if not isinstance(outputs, str) and outputs != 1 else names[0]

    def message(self, external=None):
        """external: a function that gives (location, offset, length) for a Tensor stored outside."""
        out = b"".join(field_bytes(1, n) for n in self.nodes) + field_bytes(2, self.name)
        for t in self.tensors:
            outside = external(t) if external and t.storage == "external" else None
            out += field_bytes(5, message_tensor(t, outside))
        out += b"".join(field_bytes(11, v) for v in self.inputs)
        out += b"".join(field_bytes(12, v) for v in self.outputs)
        return out + b"".join(field_bytes(13, v) for v in self.values)


class Model(Graph):
    """opset: a number, or {domain: version}."""

    def __init__(self, name="graph", opset=13, ir=8, seed=0, producer="onnxwrite"):
        super().__init__(name, seed)
        self.opset = opset if isinstance(opset, dict) else {"": opset}
        self.ir, self.producer = ir, producer
        self.functions = []

    def function(self, name, domain, inputs, outputs, nodes, opset, attributes=(), defaults=None):
        """A local function. nodes: messages; attributes: names; defaults: of further attributes, by name."""
        out = field_bytes(1, name) + b"".join(field_bytes(4, i) for i in inputs) + b"".join(field_bytes(5, o) for o in outputs)
        out += b"".join(field_bytes(6, a) for a in attributes) + b"".join(field_bytes(7, n) for n in nodes)
        out += message_imports(9, opset) + _field_text(10, domain)
        self.functions.append(out + b"".join(field_bytes(11, message_attribute(k, v)) for k, v in (defaults or {}).items()))

    def bytes(self, external=None):
        out = field_int(1, self.ir) + _field_text(2, self.producer) + field_bytes(7, self.message(external))
        return out + message_imports(8, self.opset) + b"".join(field_bytes(25, f) for f in self.functions)

    def save(self, path):
        """Tensors of storage "external" go to path + ".data", each from a multiple of 16 bytes."""
        path, data = str(path), bytearray()

        def external(t):
            data.extend(bytes(-len(data) % 16))
            raw, offset = pack(t.kind, t.values), len(data)
            data.extend(raw)
            return path.rsplit("/", 1)[-1] + ".data", offset, len(raw)

        with open(path, "wb") as f:
            f.write(self.bytes(external))
        if data:
            with open(path + ".data", "wb") as f:
                f.write(data)


def save_tensor(path, dims, values, kind=FLOAT, name=""):
    """A file that holds one TensorProto, as the input_0.pb of a test case."""
    with open(path, "wb") as f:
        f.write(message_tensor(Tensor(dims, values, kind, name)))
