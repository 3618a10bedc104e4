#include <string>
#include <string_view>

#include "common/base/text.h"
#include "common/export/c_parts.h"
#include "common/model/certificate_text.h"
#include "common/schema/number.h"

namespace coppice::formats {
namespace {

std::string Describe(const Feature& feature) {
  if (feature.type == FeatureType::kCategorical) return "a code of the enumeration below";
  return StrCat(feature.integer ? "whole, " : "", ReadableNumber(feature.min), " to ",
                ReadableNumber(feature.max), feature.unit.empty() ? "" : " ",
                CComment(feature.unit));
}

std::string Describe(const Release& release) {
  std::string text = StrCat(release.times, " x ", CComment(release.what), ": epsilon ",
                            ShortestNumber(static_cast<double>(release.epsilon_nanos) / 1e9));
  if (release.delta_atto > 0) {
    StrAppend(&text, ", delta ", ShortestNumber(static_cast<double>(release.delta_atto) / 1e18));
  }
  return StrCat(text, ", ", CComment(release.mechanism), ", of ",
                release.part.empty() ? "all records" : CComment(release.part));
}

class EnumerationWriter {
 public:
  explicit EnumerationWriter(std::string_view prefix)
      : prefix_(prefix), capitals_(AsciiStrToUpper(prefix)) {}

  void AddFeatures(const Schema& schema) {
    Begin("feature");
    for (size_t i = 0; i < schema.num_features(); ++i) {
      const Feature& feature = schema.features()[i];
      Add(capitals_ + "_FEATURE", feature.name, i,
          StrCat(CString(feature.name), ": ", Describe(feature)));
    }
    End();
  }

  void AddCodes(const Feature& feature, size_t number) {
    const std::string prefix = StrCat(capitals_, "_", CWord(feature.name));
    StrAppend(&text_, "\n/* Codes of ", CString(feature.name), ". */");
    Begin(StrCat("feature_", number));
    for (size_t code = 0; code < feature.values.size(); ++code) {
      Add(prefix, feature.values[code], code, CString(feature.values[code]));
    }
    Add(prefix, "any other", feature.values.size(), "what is none of these");
    End();
  }

  void AddClasses(const Schema& schema) {
    Begin("class");
    for (size_t i = 0; i < schema.classes().size(); ++i) {
      Add(capitals_ + "_CLASS", schema.classes()[i], i, CString(schema.classes()[i]));
    }
    End();
  }

  const std::string& text() const { return text_; }

 private:
  void Begin(std::string_view tag) { StrAppend(&text_, "\nenum ", prefix_, "_", tag, " {\n"); }

  void Add(std::string_view prefix, std::string_view name, size_t value, std::string_view comment) {
    StrAppend(&text_, "  ", names_.Enumerator(prefix, name), " = ", value, ", /* ", comment,
              " */\n");
  }

  void End() { StrAppend(&text_, "};\n"); }

  const std::string prefix_, capitals_;
  Identifiers names_;
  std::string text_;
};

}  // namespace

std::string CCertificate(const Model& model, std::string_view id) {
  const Certificate& certificate = model.certificate();
  std::string text =
      StrCat("/* ", id.empty() ? "A model" : StrCat("Model ", CComment(id)), ", as coppice ",
             COPPICE_VERSION, " wrote it. Include it in one source file.\n\n   Privacy: ",
             CComment(PrivacyInALine(certificate)), ".\n");
  for (const Release& release : certificate.releases) {
    StrAppend(&text, "     ", Describe(release), "\n");
  }
  for (const std::string& input : certificate.public_inputs) {
    StrAppend(&text, "     public: ", CComment(input), "\n");
  }
  StrAppend(&text, "   Estimator: ", CComment(certificate.estimator), "\n");
  if (!certificate.fingerprint.empty()) {
    StrAppend(&text, "   Fingerprint: ", CComment(certificate.fingerprint), "\n");
  }
  return StrCat(
      text,
      "\n   A row has one double a feature, in the order of the enumeration. A missing value is\n",
      "   a NaN, so do not compile with -ffast-math. */\n");
}

std::string CEnumerations(const Schema& schema, std::string_view prefix) {
  EnumerationWriter writer(prefix);
  writer.AddFeatures(schema);
  for (size_t i = 0; i < schema.num_features(); ++i) {
    const Feature& feature = schema.features()[i];
    if (feature.type == FeatureType::kCategorical) writer.AddCodes(feature, i);
  }
  if (!schema.target()) writer.AddClasses(schema);
  return writer.text();
}

}  // namespace coppice::formats
