#include "common/pages/html.h"

#include <openssl/sha.h>

#include <array>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/text.h"

namespace coppice::report {
namespace {

constexpr char kAbsent[] = "–";

std::string RenderCell(const TableCell& cell, bool heading) {
  const std::string open = cell.css_class.empty() ? "" : StrCat(" class=\"", cell.css_class, "\"");
  return heading ? StrCat("<th scope=\"row\"", open, ">", cell.html, "</th>")
                 : StrCat("<td", open, ">", cell.html, "</td>");
}

}  // namespace

std::string Text(std::string_view data) {
  return StrReplaceAll(
      Printable(data),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string StyleHash() {
  const std::string_view style = StyleSheet();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(style.data()), style.size(), digest.data());
  return StrCat("sha256-", Base64Escape(AsBytes(digest)));
}

std::string RenderDocument(const Document& document) {
  const std::string title = Text(document.title), kind = Text(document.kind);
  return StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '",
      StyleHash(), "'; base-uri 'none'; form-action 'none'\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", title, " – ", kind,
      "</title>\n<style>", StyleSheet(), "</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">",
      "Coppice<span>", kind, "</span></p>\n<h1>", title, "</h1>\n",
      document.lead.empty() ? "" : StrCat("<p class=\"lead\">", Text(document.lead), "</p>\n"),
      "</header>\n<main>\n", document.body, "</main>\n<footer><p>Written by Coppice ",
      COPPICE_VERSION, ". This page loads nothing and runs no script.</p></footer>\n",
      "</body>\n</html>\n");
}

TableCell Cell(std::string_view text) { return {.html = Text(text)}; }
TableCell NumberCell(std::string_view text) { return {.html = Text(text), .css_class = "n"}; }

std::string RenderTable(const TableData& table) {
  const std::string caption = Text(table.caption);
  std::string html = StrCat("<figure>\n<figcaption>", caption, "</figcaption>\n",
                            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
                            caption, "\">\n<table aria-label=\"", caption, "\">\n<thead><tr>");
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool number = !table.rows.empty() && table.rows.front().size() > i &&
                        !table.rows.front()[i].css_class.empty();
    StrAppend(&html, "<th scope=\"col\"", number ? " class=\"n\"" : "", ">", Text(table.columns[i]),
              "</th>");
  }
  StrAppend(&html, "</tr></thead>\n<tbody>\n");
  for (const std::vector<TableCell>& row : table.rows) {
    StrAppend(&html, "<tr>");
    for (const TableCell& cell : row) StrAppend(&html, RenderCell(cell, &cell == &row[0]));
    StrAppend(&html, "</tr>\n");
  }
  StrAppend(&html, "</tbody>\n</table>\n</div>\n</figure>\n");
  return html;
}

std::string Section(std::string_view heading, std::string_view body) {
  return StrCat("<section>\n<h2>", Text(heading), "</h2>\n", body, "</section>\n");
}

std::string Paragraph(std::string_view text) { return StrCat("<p>", Text(text), "</p>\n"); }

std::string Sentences(const Json& texts) {
  std::string html = "<ul class=\"says\">\n";
  for (const Json& text : texts) {
    StrAppend(&html, "<li>", Text(text.get<std::string>()), "</li>\n");
  }
  return StrCat(html, "</ul>\n");
}

std::string Remark(std::string_view text) {
  return StrCat("<p class=\"remark\">", Text(text), "</p>\n");
}

std::string Details(std::string_view summary, std::string_view body) {
  return StrCat("<details>\n<summary>", Text(summary), "</summary>\n", body, "</details>\n");
}

std::string RenderFigures(const std::vector<Figure>& figures) {
  std::string html = "<dl class=\"figures\">\n";
  for (const Figure& figure : figures) {
    StrAppend(&html, "<div><dt>", Text(figure.name), "</dt><dd><b>", Text(figure.value),
              "</b><span>", Text(figure.note), "</span></dd></div>\n");
  }
  StrAppend(&html, "</dl>\n");
  return html;
}

std::string Decimal(double value) { return absl::StrFormat("%.3f", value); }
std::string SignedDecimal(double value) {
  return StrReplaceAll(absl::StrFormat("%+.3f", value), {{"-", "−"}});
}

std::string DecimalOf(const Json& json, std::string_view name) {
  const auto found = json.find(std::string(name));
  if (found == json.end() || !found->is_number()) return kAbsent;
  return Decimal(found->get<double>());
}

std::string IntervalOf(const Json& json, std::string_view name) {
  const auto found = json.find(std::string(name));
  if (found == json.end() || !found->is_array() || found->size() != 2) return "";
  if (!found->front().is_number() || !found->back().is_number()) return "";
  return StrCat(Decimal(found->front().get<double>()), " to ",
                Decimal(found->back().get<double>()));
}

std::string Plain(const Json& number) {
  if (number.is_string()) return number.get<std::string>();
  if (number.is_number_float()) return absl::StrFormat("%.6g", number.get<double>());
  return number.is_number() ? number.dump() : kAbsent;
}

}  // namespace coppice::report
