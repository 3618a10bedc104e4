// Writes the few ONNX messages that we need, by their field numbers (docs/export.md#onnx has the
// versions). ONNX files are protocol buffers: a message here is its bytes.
//
// Source     https://github.com/onnx/onnx/blob/main/docs/IR.md
// Threads    a message is not thread-safe.

#ifndef COPPICE_COMMON_EXPORT_ONNX_MESSAGE_H_
#define COPPICE_COMMON_EXPORT_ONNX_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace coppice::formats::onnx {

// A protocol buffer message of any type.
class Message {
 public:
  void AddInt(int field, int64_t value);
  void AddBytes(int field, std::string_view bytes);
  void AddMessage(int field, const Message& message) { AddBytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void AddVarint(uint64_t value);

  std::string bytes_;
};

// The type of a tensor's elements: TensorProto.DataType.
enum class Element : int64_t { kFloat = 1, kInt64 = 7, kString = 8, kDouble = 11 };

Message DoubleTensor(absl::Span<const double> values, const std::vector<int64_t>& shape,
                     std::string_view name);
Message IntTensor(absl::Span<const int64_t> values, std::string_view name);
Message StringTensor(absl::Span<const std::string> values, std::string_view name);

// A graph's input or output: rows, with `columns` columns if that is not 0.
Message ValueInfo(std::string_view name, Element element, int64_t columns);

// NodeProto: an operator with its attributes.
class Operator {
 public:
  Operator(std::string_view type, absl::Span<const std::string> inputs, std::string_view output,
           std::string_view domain = "");

  Operator& Int(std::string_view name, int64_t value);
  Operator& Text(std::string_view name, std::string_view value);
  Operator& Ints(std::string_view name, absl::Span<const int64_t> values);
  Operator& Texts(std::string_view name, absl::Span<const std::string_view> values);
  Operator& Doubles(std::string_view name, absl::Span<const double> values);

  const Message& message() const { return message_; }

 private:
  Message message_;
};

// A GraphProto under construction. Operators are in the order in which they run.
class Graph {
 public:
  // Adds a constant. Returns its name.
  std::string Constant(std::string_view name, double value);  // double
  std::string Constant(std::string_view name, absl::Span<const double> values);
  std::string Constant(std::string_view name, absl::Span<const int64_t> values);
  std::string Constant(std::string_view name, absl::Span<const std::string> values);
  // Adds an operator that computes `output`. Returns `output`.
  std::string Add(std::string_view type, absl::Span<const std::string> inputs,
                  std::string_view output);
  std::string Add(const Operator& op, std::string_view output);

  void AddInput(const Message& value_info) { message_.AddMessage(11, value_info); }
  void AddOutput(const Message& value_info) { message_.AddMessage(12, value_info); }
  // Names the graph, which is then complete.
  Message Finish(std::string_view name);

 private:
  Message message_;
};

// Adds a cast. Returns `output`.
std::string AddCast(const std::string& from, Element to, const std::string& output, Graph& graph);

}  // namespace coppice::formats::onnx

#endif  // COPPICE_COMMON_EXPORT_ONNX_MESSAGE_H_
