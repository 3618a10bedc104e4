#include "common/export/onnx_message.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace coppice::formats::onnx {
namespace {

// Numbers are stored with their bytes as in memory.
static_assert(std::endian::native == std::endian::little);

// AttributeProto.AttributeType.
enum class AttributeType : int64_t { kInt = 2, kString = 3, kTensor = 4, kInts = 7, kStrings = 8 };

// TensorProto without its values.
Message TensorHead(Element element, const std::vector<int64_t>& shape, std::string_view name) {
  Message tensor;
  for (const int64_t size : shape) tensor.AddInt(1, size);
  tensor.AddInt(2, static_cast<int64_t>(element));
  if (!name.empty()) tensor.AddBytes(8, name);
  return tensor;
}

template <typename Number>
Message Tensor(Element element, absl::Span<const Number> values, const std::vector<int64_t>& shape,
               std::string_view name) {
  Message tensor = TensorHead(element, shape, name);
  std::string raw(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  tensor.AddBytes(9, raw);
  return tensor;
}

Message Attribute(std::string_view name, AttributeType type) {
  Message attribute;
  attribute.AddBytes(1, name);
  attribute.AddInt(20, static_cast<int64_t>(type));
  return attribute;
}

std::vector<int64_t> ShapeOf(size_t size) { return {static_cast<int64_t>(size)}; }

constexpr int kNode = 1, kInitializer = 5;  // fields of GraphProto
constexpr int kAttribute = 5;               // field of NodeProto

}  // namespace

void Message::AddVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

void Message::AddInt(int field, int64_t value) {
  AddVarint(static_cast<uint64_t>(field) << 3);
  AddVarint(static_cast<uint64_t>(value));
}

void Message::AddBytes(int field, std::string_view bytes) {
  AddVarint(static_cast<uint64_t>(field) << 3 | 2);
  AddVarint(bytes.size());
  bytes_.append(bytes.data(), bytes.size());
}

Message DoubleTensor(absl::Span<const double> values, const std::vector<int64_t>& shape,
                     std::string_view name) {
  return Tensor(Element::kDouble, values, shape, name);
}

Message IntTensor(absl::Span<const int64_t> values, std::string_view name) {
  return Tensor(Element::kInt64, values, ShapeOf(values.size()), name);
}

Message StringTensor(absl::Span<const std::string> values, std::string_view name) {
  Message tensor = TensorHead(Element::kString, ShapeOf(values.size()), name);
  for (const std::string& value : values) tensor.AddBytes(6, value);
  return tensor;
}

Message ValueInfo(std::string_view name, Element element, int64_t columns) {
  Message rows, shape;
  rows.AddBytes(2, "rows");  // a named dimension may have any size
  shape.AddMessage(1, rows);
  if (columns > 0) {
    Message fixed;
    fixed.AddInt(1, columns);
    shape.AddMessage(1, fixed);
  }
  Message tensor, type, info;
  tensor.AddInt(1, static_cast<int64_t>(element));
  tensor.AddMessage(2, shape);
  type.AddMessage(1, tensor);
  info.AddBytes(1, name);
  info.AddMessage(2, type);
  return info;
}

Operator::Operator(std::string_view type, absl::Span<const std::string> inputs,
                   std::string_view output, std::string_view domain) {
  for (const std::string& input : inputs) message_.AddBytes(1, input);
  message_.AddBytes(2, output);
  message_.AddBytes(3, output);  // the node's name: that of its output
  message_.AddBytes(4, type);
  if (!domain.empty()) message_.AddBytes(7, domain);
}

Operator& Operator::Int(std::string_view name, int64_t value) {
  Message attribute = Attribute(name, AttributeType::kInt);
  attribute.AddInt(3, value);
  message_.AddMessage(kAttribute, attribute);
  return *this;
}

Operator& Operator::Text(std::string_view name, std::string_view value) {
  Message attribute = Attribute(name, AttributeType::kString);
  attribute.AddBytes(4, value);
  message_.AddMessage(kAttribute, attribute);
  return *this;
}

Operator& Operator::Ints(std::string_view name, absl::Span<const int64_t> values) {
  Message attribute = Attribute(name, AttributeType::kInts);
  for (const int64_t value : values) attribute.AddInt(8, value);
  message_.AddMessage(kAttribute, attribute);
  return *this;
}

Operator& Operator::Texts(std::string_view name, absl::Span<const std::string_view> values) {
  Message attribute = Attribute(name, AttributeType::kStrings);
  for (const std::string_view value : values) attribute.AddBytes(9, value);
  message_.AddMessage(kAttribute, attribute);
  return *this;
}

Operator& Operator::Doubles(std::string_view name, absl::Span<const double> values) {
  Message attribute = Attribute(name, AttributeType::kTensor);
  attribute.AddMessage(5, DoubleTensor(values, ShapeOf(values.size()), ""));
  message_.AddMessage(kAttribute, attribute);
  return *this;
}

std::string Graph::Constant(std::string_view name, double value) {
  message_.AddMessage(kInitializer, DoubleTensor({&value, 1}, {}, name));
  return std::string(name);
}

std::string Graph::Constant(std::string_view name, absl::Span<const double> values) {
  message_.AddMessage(kInitializer, DoubleTensor(values, ShapeOf(values.size()), name));
  return std::string(name);
}

std::string Graph::Constant(std::string_view name, absl::Span<const int64_t> values) {
  message_.AddMessage(kInitializer, IntTensor(values, name));
  return std::string(name);
}

std::string Graph::Constant(std::string_view name, absl::Span<const std::string> values) {
  message_.AddMessage(kInitializer, StringTensor(values, name));
  return std::string(name);
}

std::string Graph::Add(std::string_view type, absl::Span<const std::string> inputs,
                       std::string_view output) {
  return Add(Operator(type, inputs, output), output);
}

std::string Graph::Add(const Operator& op, std::string_view output) {
  message_.AddMessage(kNode, op.message());
  return std::string(output);
}

std::string AddCast(const std::string& from, Element to, const std::string& output, Graph& graph) {
  return graph.Add(Operator("Cast", {from}, output).Int("to", static_cast<int64_t>(to)), output);
}

Message Graph::Finish(std::string_view name) {
  message_.AddBytes(2, name);
  return message_;
}

}  // namespace coppice::formats::onnx
