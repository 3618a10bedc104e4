#include "common/pages/html.h"

#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/printable.h"

namespace coppice::report {
namespace {

constexpr char kAbsent[] = "–";

std::string RenderCell(const TableCell& cell, bool heading) {
  const std::string open =
      cell.css_class.empty() ? "" : absl::StrCat(" class=\"", cell.css_class, "\"");
  return heading ? absl::StrCat("<th scope=\"row\"", open, ">", cell.html, "</th>")
                 : absl::StrCat("<td", open, ">", cell.html, "</td>");
}

}  // namespace

std::string Text(absl::string_view data) {
  return absl::StrReplaceAll(
      Printable(data),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string StyleHash() {
  const absl::string_view style = StyleSheet();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(style.data()), style.size(), digest.data());
  return absl::StrCat("sha256-", absl::Base64Escape(absl::string_view(
                                     reinterpret_cast<const char*>(digest.data()), digest.size())));
}

std::string RenderDocument(const Document& document) {
  const std::string title = Text(document.title), kind = Text(document.kind);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '",
      StyleHash(), "'; base-uri 'none'; form-action 'none'\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", title, " – ", kind,
      "</title>\n<style>", StyleSheet(), "</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">",
      "Coppice<span>", kind, "</span></p>\n<h1>", title, "</h1>\n",
      document.lead.empty() ? ""
                            : absl::StrCat("<p class=\"lead\">", Text(document.lead), "</p>\n"),
      "</header>\n<main>\n", document.body, "</main>\n<footer><p>Written by Coppice ",
      COPPICE_VERSION, ". This page loads nothing and runs no script.</p></footer>\n",
      "</body>\n</html>\n");
}

TableCell Cell(absl::string_view text) { return {.html = Text(text)}; }
TableCell NumberCell(absl::string_view text) { return {.html = Text(text), .css_class = "n"}; }

std::string RenderTable(const TableData& table) {
  const std::string caption = Text(table.caption);
  std::string html =
      absl::StrCat("<figure>\n<figcaption>", caption, "</figcaption>\n",
                   "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", caption,
                   "\">\n<table aria-label=\"", caption, "\">\n<thead><tr>");
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool number = !table.rows.empty() && table.rows.front().size() > i &&
                        !table.rows.front()[i].css_class.empty();
    absl::StrAppend(&html, "<th scope=\"col\"", number ? " class=\"n\"" : "", ">",
                    Text(table.columns[i]), "</th>");
  }
  absl::StrAppend(&html, "</tr></thead>\n<tbody>\n");
  for (const std::vector<TableCell>& row : table.rows) {
    absl::StrAppend(&html, "<tr>");
    for (const TableCell& cell : row) absl::StrAppend(&html, RenderCell(cell, &cell == &row[0]));
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</tbody>\n</table>\n</div>\n</figure>\n");
  return html;
}

std::string Section(absl::string_view heading, absl::string_view body) {
  return absl::StrCat("<section>\n<h2>", Text(heading), "</h2>\n", body, "</section>\n");
}

std::string Paragraph(absl::string_view text) { return absl::StrCat("<p>", Text(text), "</p>\n"); }

std::string Sentences(const Json& texts) {
  std::string html = "<ul class=\"says\">\n";
  for (const Json& text : texts) {
    absl::StrAppend(&html, "<li>", Text(text.get<std::string>()), "</li>\n");
  }
  return absl::StrCat(html, "</ul>\n");
}

std::string Remark(absl::string_view text) {
  return absl::StrCat("<p class=\"remark\">", Text(text), "</p>\n");
}

std::string Details(absl::string_view summary, absl::string_view body) {
  return absl::StrCat("<details>\n<summary>", Text(summary), "</summary>\n", body, "</details>\n");
}

std::string RenderFigures(const std::vector<Figure>& figures) {
  std::string html = "<dl class=\"figures\">\n";
  for (const Figure& figure : figures) {
    absl::StrAppend(&html, "<div><dt>", Text(figure.name), "</dt><dd><b>", Text(figure.value),
                    "</b><span>", Text(figure.note), "</span></dd></div>\n");
  }
  absl::StrAppend(&html, "</dl>\n");
  return html;
}

std::string Decimal(double value) { return absl::StrFormat("%.3f", value); }
std::string SignedDecimal(double value) {
  return absl::StrReplaceAll(absl::StrFormat("%+.3f", value), {{"-", "−"}});
}

std::string DecimalOf(const Json& json, absl::string_view name) {
  const auto found = json.find(std::string(name));
  if (found == json.end() || !found->is_number()) return kAbsent;
  return Decimal(found->get<double>());
}

std::string IntervalOf(const Json& json, absl::string_view name) {
  const auto found = json.find(std::string(name));
  if (found == json.end() || !found->is_array() || found->size() != 2) return "";
  if (!found->front().is_number() || !found->back().is_number()) return "";
  return absl::StrCat(Decimal(found->front().get<double>()), " to ",
                      Decimal(found->back().get<double>()));
}

std::string Plain(const Json& number) {
  if (number.is_string()) return number.get<std::string>();
  if (number.is_number_float()) return absl::StrFormat("%.6g", number.get<double>());
  return number.is_number() ? number.dump() : kAbsent;
}

}  // namespace coppice::report
