#include "common/wire/proto/json_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/message_walk.h"

namespace coppice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Where Protobuf's own parser stops.
constexpr size_t kMaxDepth = 100;

// Names a path of fields from the text. A path that cannot be a field's is not repeated.
std::string FieldName(std::string_view path) {
  constexpr size_t kMaxBytes = 100;
  const bool is_path = !path.empty() && path.size() <= kMaxBytes &&
                       std::all_of(path.begin(), path.end(), [](unsigned char c) {
                         return IsAsciiAlnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
                       });
  return is_path ? StrCat("the field ", path) : "a field in it";
}

Status Refusal(std::string_view path, std::string_view why) {
  return InvalidArgumentError(StrCat(FieldName(path), " ", why));
}

Status Unknown(std::string_view path) {
  return Refusal(path, "is unknown; names are as in the .proto, or in lowerCamelCase");
}

Status OtherType(std::string_view path) { return Refusal(path, "has a value of another type"); }

Status NoObject() { return InvalidArgumentError("JSON of a message is an object, {...}"); }

Status NoJson() { return InvalidArgumentError("it does not parse as JSON in UTF-8"); }

const FieldDescriptor* FindField(const Descriptor& type, std::string_view name) {
  const std::string text(name);
  const FieldDescriptor* field = type.FindFieldByName(text);
  return field != nullptr ? field : type.FindFieldByCamelcaseName(text);
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

// Walks the text along the fields of a message, and refuses what the comment of json_message.h
// lists. Whether the rest is JSON is left to Protobuf's parser, which reads the text afterwards.
// That one also takes single quotes and names without quotes; both are refused here, so that both
// read every other text alike.
//
// It also adds up what the message will take, as MeasureMessage() does.
//
// Guarantee  memory for kMaxDepth levels, whatever the text; time linear in it.
class Walk {
 public:
  Walk(std::string_view json, const Descriptor& type, UnknownFields unknown)
      : rest_(json), type_(type), unknown_(unknown), bytes_(BytesOfMessage(type)) {}

  size_t bytes() const { return bytes_; }

  Status Run() {
    ConsumePrefix(&rest_, "\xEF\xBB\xBF");  // the parser skips it, too
    while (true) {
      rest_ = StripLeadingAsciiWhitespace(rest_);
      if (rest_.empty()) return OkStatus();
      COPPICE_RETURN_IF_ERROR(TakeToken());
    }
  }

 private:
  // An object or a list that is not closed yet.
  struct Level {
    enum Kind { kMessage, kMap, kList } kind = kMessage;
    const Descriptor* type = nullptr;  // of a kMessage
    const FieldDescriptor* field =
        nullptr;             // whose value comes; null before a name, and if unknown
    bool wants_name = true;  // a text is a name, and no value
    size_t index = 0;        // of a kList: which element comes
    size_t value_bytes = 0;  // what a value of `field` takes
    std::vector<const FieldDescriptor*> seen = {};
  };

  Status TakeToken() {
    const char first = rest_[0];
    if (first == '"') return TakeText();
    if (StrContains("{[}],:", first)) {
      rest_.remove_prefix(1);
      return TakeMark(first);
    }
    return TakeWord();
  }

  Status TakeMark(char mark) {
    if (mark == ':') return OkStatus();
    if (skipped_levels_ > 0) {
      if (mark == '{' || mark == '[') ++skipped_levels_;
      if (mark == '}' || mark == ']') --skipped_levels_;
      return OkStatus();
    }
    if (mark == '{') return OpenObject();
    if (mark == '[') return OpenList();
    if (levels_.empty()) return NoJson();
    Level& level = levels_.back();
    if (mark == ',') {
      ++level.index;
      level.wants_name = level.kind != Level::kList;
      return OkStatus();
    }
    if ((mark == ']') != (level.kind == Level::kList)) return NoJson();
    levels_.pop_back();
    return OkStatus();
  }

  Status TakeText() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return NoJson();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (WantsName()) return TakeName(text);
    AddValue(text.size());
    return OkStatus();
  }

  // A number, true, false or null.
  Status TakeWord() {
    size_t end = 0;
    const auto in_word = [](char c) {
      return IsAsciiAlnum(static_cast<unsigned char>(c)) || StrContains("+-.", c);
    };
    while (end < rest_.size() && in_word(rest_[end])) ++end;
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (word.empty() || WantsName()) return NoJson();
    if (word == "null") return TakeNull();
    AddNumber();
    return OkStatus();
  }

  // A value of the field that comes. Protobuf's parser writes it as bytes first.
  void AddValue(size_t text_bytes) {
    constexpr size_t kWritten = 32;
    if (skipped_levels_ > 0 || levels_.empty()) return;
    bytes_ += levels_.back().value_bytes + 2 * text_bytes + kWritten;
  }

  void AddNumber() {
    constexpr size_t kWritten = 10;
    if (skipped_levels_ > 0 || levels_.empty()) return;
    bytes_ += 2 * levels_.back().value_bytes + kWritten;
  }

  bool WantsName() const {
    return skipped_levels_ == 0 && !levels_.empty() && levels_.back().wants_name;
  }

  Status TakeName(std::string_view name) {
    Level& level = levels_.back();
    level.wants_name = false;
    if (level.kind == Level::kMap) return OkStatus();
    level.field = nullptr;
    const FieldDescriptor* field = FindField(*level.type, name);
    if (field == nullptr) {
      if (unknown_ == UnknownFields::kSkipped) return OkStatus();
      const std::string path = Path();
      return Unknown(path.empty() ? std::string(name) : StrCat(path, ".", name));
    }
    level.field = field;
    level.value_bytes = BytesOfElement(*field);
    if (std::count(level.seen.begin(), level.seen.end(), field) > 0) {
      return Refusal(Path(), "occurs twice");
    }
    level.seen.push_back(field);
    return OkStatus();
  }

  // A field that is null is as if it were left out; an element cannot be.
  Status TakeNull() const {
    if (skipped_levels_ > 0 || levels_.empty()) return OkStatus();
    const Level& level = levels_.back();
    if (level.kind == Level::kMessage) return OkStatus();
    return Refusal(Path(), IsNumber(*level.field) ? "is null; a missing number is \"NaN\""
                                                  : "is null, which no list or map can hold");
  }

  Status OpenObject() {
    if (levels_.empty()) return Push({.kind = Level::kMessage, .type = &type_});
    const Level& level = levels_.back();
    if (level.field == nullptr) return Skip();
    const Descriptor* type = level.field->message_type();
    if (type == nullptr) return OtherType(Path());
    AddValue(0);
    if (level.field->is_map() && level.kind == Level::kMessage) {
      return Push({.kind = Level::kMap,
                   .field = type->map_value(),
                   .value_bytes = BytesOfElement(*level.field)});
    }
    return Push({.kind = Level::kMessage, .type = type});
  }

  Status OpenList() {
    if (levels_.empty()) return NoObject();
    const Level& level = levels_.back();
    if (level.field == nullptr) return Skip();
    if (level.kind == Level::kList) return Refusal(Path(), "is a list in a list");
    const bool is_list = level.kind == Level::kMessage && level.field->is_repeated();
    if (!is_list || level.field->is_map()) return OtherType(Path());
    return Push({.kind = Level::kList,
                 .field = level.field,
                 .wants_name = false,
                 .value_bytes = level.value_bytes});
  }

  Status Push(Level level) {
    if (levels_.size() == kMaxDepth) {
      return InvalidArgumentError(StrCat("it is nested deeper than ", kMaxDepth));
    }
    levels_.push_back(std::move(level));
    return OkStatus();
  }

  Status Skip() {
    ++skipped_levels_;
    return OkStatus();
  }

  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.kind == Level::kList) {
        StrAppend(&path, "[", level.index, "]");
      } else if (level.kind == Level::kMessage && level.field != nullptr) {
        StrAppend(&path, path.empty() ? "" : ".", level.field->json_name());
      }
    }
    return path;
  }

  std::string_view rest_;
  const Descriptor& type_;
  const UnknownFields unknown_;
  std::vector<Level> levels_;
  size_t skipped_levels_ = 0;  // of the value of an unknown field
  size_t bytes_ = 0;
};

// JsonUtil's messages quote rejected values. This keeps only the field.
Status WithoutValues(std::string_view words) {
  std::string_view path;
  if (ConsumePrefix(&words, "(")) {
    const size_t end = std::min(words.find(')'), words.size());
    path = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  if (StartsWith(words, ": invalid value")) return OtherType(path);
  if (StrContains(words, ": Repeated map key:")) return Refusal("", "has a key twice");
  if (StrContains(words, "Root element must be a message")) return NoObject();
  return NoJson();
}

google::protobuf::StringPiece PieceOf(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

StatusOr<size_t> MeasureJsonMessage(std::string_view json, const Descriptor& type,
                                    UnknownFields unknown) {
  Walk walk(json, type, unknown);
  COPPICE_RETURN_IF_ERROR(walk.Run());
  return walk.bytes();
}

Status ParseJsonMessage(std::string_view json, Message& message, UnknownFields unknown) {
  COPPICE_RETURN_IF_ERROR(MeasureJsonMessage(json, *message.GetDescriptor(), unknown).status());
  return ParseMeasuredJson(json, message, unknown);
}

Status ParseMeasuredJson(std::string_view json, Message& message, UnknownFields unknown) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = unknown == UnknownFields::kSkipped;
  const auto status = google::protobuf::util::JsonStringToMessage(PieceOf(json), &message, options);
  if (status.ok()) return OkStatus();
  return WithoutValues({status.message().data(), status.message().size()});
}

}  // namespace coppice
