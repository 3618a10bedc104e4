#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

constexpr size_t kShownReleases = 12;  // what fits on the page with the rest

std::string ReleaseRows(const Json& releases, size_t begin, size_t end, const char* caption) {
  TableData table{.caption = caption, .columns = {}, .rows = {}};
  if (begin >= end) return "";
  for (const auto& [name, value] : releases[begin].items()) table.columns.push_back(name);
  for (size_t i = begin; i < end; ++i) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    for (const std::string& column : table.columns) {
      const Json value = releases[i].value(column, Json());
      cells.push_back(value.is_number() ? NumberCell(Plain(value))
                                        : Cell(value.is_string() ? value.get<std::string>() : ""));
    }
  }
  return RenderTable(table);
}

std::string Releases(const Json& verdict) {
  const auto found = verdict.find("releases");
  if (found == verdict.end() || !found->is_array() || found->empty()) return "";
  const size_t shown = std::min(found->size(), kShownReleases);
  std::string body =
      ReleaseRows(*found, 0, shown, "Everything that was computed from private rows and released");
  if (found->size() > shown) {
    StrAppend(&body, Details(StrCat(found->size() - shown, " more"),
                             ReleaseRows(*found, shown, found->size(), "The others")));
  }
  return Section("Releases one by one", body);
}

std::string Words(const Json& verdict) {
  std::string html;
  for (const Json& section : verdict.value("words", Json::array())) {
    html +=
        Section(section.value("title", ""), Sentences(section.value("sentences", Json::array())));
  }
  return html;
}

// What a review asks, and what a person has to add.
std::string Questions(const Json& verdict) {
  std::string html;
  for (const Json& one : verdict.value("questions", Json::array())) {
    Json sentences = Json::array();
    if (one.contains("answer")) sentences.push_back(one["answer"]);
    if (one.contains("to_say")) {
      sentences.push_back(StrCat("Only you can say: ", one.value("to_say", ""), "."));
    }
    html += Section(one.value("question", ""), Sentences(sentences));
  }
  return html.empty() ? "" : Details("For a review: the questions of NIST SP 800-226", html);
}

Figure SignatureFigure(const Json& verdict) {
  const std::string state = verdict.value("signature", "");
  if (state == "unsigned") return {"Signed by the curator", "no", "nothing shows who made it"};
  if (state == "unpinned")
    return {"Signed", "yes", "by a key that was not compared with the curator's"};
  if (state == "valid") return {"Signed by the curator", "yes", ""};
  return {"Signed by the curator", "no", "do not use this model"};
}

// Not rounded: a rounded promise could claim more than what holds.
std::string Exact(const Json& number) {
  return number.is_number() ? absl::StrFormat("%.15g", number.get<double>()) : Plain(number);
}

Figure RelayFigure(const Json& relay) {
  return {"ε through the relay", Exact(relay.value("epsilon", Json())),
          StrCat("towards a curator that does not collude with it; δ = ",
                 Exact(relay.value("delta", Json())))};
}

std::string Facts(const Json& verdict) {
  std::vector<Figure> figures;
  if (verdict.contains("epsilon")) {
    figures.push_back({"ε, the loss of privacy at most", Plain(verdict["epsilon"]), ""});
  }
  figures.push_back({"δ, by how much that bound may fail",
                     verdict.contains("delta") ? Plain(verdict["delta"]) : "0", ""});
  if (verdict.contains("relay") && verdict["relay"].is_object()) {
    figures.push_back(RelayFigure(verdict["relay"]));
  }
  if (verdict.contains("consistent")) {
    const bool consistent = verdict["consistent"].is_boolean() && verdict["consistent"].get<bool>();
    figures.push_back(
        {"The parts add up to the whole", consistent ? "yes" : "no",
         consistent ? "checked when this page was written" : "do not use this model"});
  }
  if (verdict.contains("signature")) figures.push_back(SignatureFigure(verdict));
  return RenderFigures(figures);
}

}  // namespace

std::string CertificatePage(const Json& verdict) {
  // The words tell the releases too, so the table is only for a certificate that does not add up.
  const std::string words = Words(verdict);
  const std::string body =
      StrCat(Facts(verdict), words.empty() ? Releases(verdict) : words, Questions(verdict));
  const std::string neighbouring = verdict.value("neighbouring", "");
  return RenderDocument(
      {.kind = "Privacy certificate",
       .title = StrCat("Model ", verdict.value("model", "")),
       .lead = neighbouring.empty()
                   ? ""
                   : StrCat("Differentially private. Neighbours: ", neighbouring, "."),
       .body = body});
}

}  // namespace coppice::report
