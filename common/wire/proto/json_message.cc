#include "common/wire/proto/json_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Where Protobuf's own parser stops.
constexpr size_t kMaxDepth = 100;

// Names a path of fields from the text. A path that cannot be a field's is not repeated.
std::string FieldName(absl::string_view path) {
  constexpr size_t kMaxBytes = 100;
  const bool is_path =
      !path.empty() && path.size() <= kMaxBytes &&
      std::all_of(path.begin(), path.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
      });
  return is_path ? absl::StrCat("the field ", path) : "a field in it";
}

absl::Status Refusal(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(FieldName(path), " ", why));
}

absl::Status Unknown(absl::string_view path) {
  return Refusal(path, "is unknown; names are as in the .proto, or in lowerCamelCase");
}

absl::Status OtherType(absl::string_view path) {
  return Refusal(path, "has a value of another type");
}

absl::Status NoObject() {
  return absl::InvalidArgumentError("JSON of a message is an object, {...}");
}

absl::Status NoJson() { return absl::InvalidArgumentError("it does not parse as JSON in UTF-8"); }

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view name) {
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
// Guarantee  memory for kMaxDepth levels, whatever the text; time linear in it.
class Walk {
 public:
  Walk(absl::string_view json, const Descriptor& type, UnknownFields unknown)
      : rest_(json), type_(type), unknown_(unknown) {}

  absl::Status Run() {
    absl::ConsumePrefix(&rest_, "\xEF\xBB\xBF");  // the parser skips it, too
    while (true) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      if (rest_.empty()) return absl::OkStatus();
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
    std::vector<const FieldDescriptor*> seen = {};
  };

  absl::Status TakeToken() {
    const char first = rest_[0];
    if (first == '"') return TakeText();
    if (absl::StrContains("{[}],:", first)) {
      rest_.remove_prefix(1);
      return TakeMark(first);
    }
    return TakeWord();
  }

  absl::Status TakeMark(char mark) {
    if (mark == ':') return absl::OkStatus();
    if (skipped_levels_ > 0) {
      if (mark == '{' || mark == '[') ++skipped_levels_;
      if (mark == '}' || mark == ']') --skipped_levels_;
      return absl::OkStatus();
    }
    if (mark == '{') return OpenObject();
    if (mark == '[') return OpenList();
    if (levels_.empty()) return NoJson();
    Level& level = levels_.back();
    if (mark == ',') {
      ++level.index;
      level.wants_name = level.kind != Level::kList;
      return absl::OkStatus();
    }
    if ((mark == ']') != (level.kind == Level::kList)) return NoJson();
    levels_.pop_back();
    return absl::OkStatus();
  }

  absl::Status TakeText() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return NoJson();
    const absl::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return WantsName() ? TakeName(text) : absl::OkStatus();
  }

  // A number, true, false or null.
  absl::Status TakeWord() {
    size_t end = 0;
    const auto in_word = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("+-.", c);
    };
    while (end < rest_.size() && in_word(rest_[end])) ++end;
    const absl::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (word.empty() || WantsName()) return NoJson();
    return word == "null" ? TakeNull() : absl::OkStatus();
  }

  bool WantsName() const {
    return skipped_levels_ == 0 && !levels_.empty() && levels_.back().wants_name;
  }

  absl::Status TakeName(absl::string_view name) {
    Level& level = levels_.back();
    level.wants_name = false;
    if (level.kind == Level::kMap) return absl::OkStatus();
    level.field = nullptr;
    const FieldDescriptor* field = FindField(*level.type, name);
    if (field == nullptr) {
      if (unknown_ == UnknownFields::kSkipped) return absl::OkStatus();
      const std::string path = Path();
      return Unknown(path.empty() ? std::string(name) : absl::StrCat(path, ".", name));
    }
    level.field = field;
    if (std::count(level.seen.begin(), level.seen.end(), field) > 0) {
      return Refusal(Path(), "occurs twice");
    }
    level.seen.push_back(field);
    return absl::OkStatus();
  }

  // A field that is null is as if it were left out; an element cannot be.
  absl::Status TakeNull() const {
    if (skipped_levels_ > 0 || levels_.empty()) return absl::OkStatus();
    const Level& level = levels_.back();
    if (level.kind == Level::kMessage) return absl::OkStatus();
    return Refusal(Path(), IsNumber(*level.field) ? "is null; a missing number is \"NaN\""
                                                  : "is null, which no list or map can hold");
  }

  absl::Status OpenObject() {
    if (levels_.empty()) return Push({.kind = Level::kMessage, .type = &type_});
    const Level& level = levels_.back();
    if (level.field == nullptr) return Skip();
    const Descriptor* type = level.field->message_type();
    if (type == nullptr) return OtherType(Path());
    if (level.field->is_map() && level.kind == Level::kMessage) {
      return Push({.kind = Level::kMap, .field = type->map_value()});
    }
    return Push({.kind = Level::kMessage, .type = type});
  }

  absl::Status OpenList() {
    if (levels_.empty()) return NoObject();
    const Level& level = levels_.back();
    if (level.field == nullptr) return Skip();
    if (level.kind == Level::kList) return Refusal(Path(), "is a list in a list");
    const bool is_list = level.kind == Level::kMessage && level.field->is_repeated();
    if (!is_list || level.field->is_map()) return OtherType(Path());
    return Push({.kind = Level::kList, .field = level.field, .wants_name = false});
  }

  absl::Status Push(Level level) {
    if (levels_.size() == kMaxDepth) {
      return absl::InvalidArgumentError(absl::StrCat("it is nested deeper than ", kMaxDepth));
    }
    levels_.push_back(std::move(level));
    return absl::OkStatus();
  }

  absl::Status Skip() {
    ++skipped_levels_;
    return absl::OkStatus();
  }

  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.kind == Level::kList) {
        absl::StrAppend(&path, "[", level.index, "]");
      } else if (level.kind == Level::kMessage && level.field != nullptr) {
        absl::StrAppend(&path, path.empty() ? "" : ".", level.field->json_name());
      }
    }
    return path;
  }

  absl::string_view rest_;
  const Descriptor& type_;
  const UnknownFields unknown_;
  std::vector<Level> levels_;
  size_t skipped_levels_ = 0;  // of the value of an unknown field
};

// JsonUtil's messages quote rejected values. This keeps only the field.
absl::Status WithoutValues(absl::string_view words) {
  absl::string_view path;
  if (absl::ConsumePrefix(&words, "(")) {
    const size_t end = std::min(words.find(')'), words.size());
    path = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  if (absl::StartsWith(words, ": invalid value")) return OtherType(path);
  if (absl::StrContains(words, ": Repeated map key:")) return Refusal("", "has a key twice");
  if (absl::StrContains(words, "Root element must be a message")) return NoObject();
  return NoJson();
}

google::protobuf::StringPiece PieceOf(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::Status ParseJsonMessage(absl::string_view json, Message& message, UnknownFields unknown) {
  COPPICE_RETURN_IF_ERROR(Walk(json, *message.GetDescriptor(), unknown).Run());
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = unknown == UnknownFields::kSkipped;
  const auto status = google::protobuf::util::JsonStringToMessage(PieceOf(json), &message, options);
  if (status.ok()) return absl::OkStatus();
  return WithoutValues({status.message().data(), status.message().size()});
}

}  // namespace coppice
