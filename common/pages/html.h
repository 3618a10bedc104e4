// Building blocks of every page: escaped text, tables, and the document around them.
//
// Guarantee  a page is self-contained: it loads no other file, runs no script, and its
//            Content-Security-Policy forbids both. Data enters a page only through Text(), which
//            escapes every character that HTML interprets.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_PAGES_HTML_H_
#define COPPICE_COMMON_PAGES_HTML_H_

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace coppice::report {

using Json = nlohmann::ordered_json;

// Escapes `data` for text of a page, or for an attribute in double quotes. Bytes that are not valid
// UTF-8, and control characters, become U+FFFD.
std::string Text(std::string_view data);

// What surrounds the body of a page. All members but `body` are plain text.
struct Document {
  std::string kind;   // "evaluation"
  std::string title;  // "Model m-91c0"
  std::string lead;   // the page's message in one sentence
  std::string body;   // HTML
};
std::string RenderDocument(const Document& document);

// The style sheet of all pages, style/chart.css followed by style/page.css, and its hash for a
// Content-Security-Policy: "sha256-...".
std::string_view StyleSheet();
std::string StyleHash();
// style/chart.css, which a drawing in a file of its own includes.
std::string_view ChartStyleSheet();

// One cell of a table. `html` is markup; Cell() and NumberCell() escape.
struct TableCell {
  std::string html;
  std::string css_class{};
};
TableCell Cell(std::string_view text);
TableCell NumberCell(std::string_view text);

// A table with a caption; the first cell of each row is its heading.
struct TableData {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<TableCell>> rows;
};
std::string RenderTable(const TableData& table);

// A section with a heading. `body` is HTML.
std::string Section(std::string_view heading, std::string_view body);
std::string Paragraph(std::string_view text);
// A list of the texts in an array.
std::string Sentences(const Json& texts);
// A paragraph with a warning or a limitation.
std::string Remark(std::string_view text);
std::string Details(std::string_view summary, std::string_view body);

// A key figure of a page, with its name and what it is compared with.
struct Figure {
  std::string name, value, note;
};
std::string RenderFigures(const std::vector<Figure>& figures);

// The warning about scores that pages show.
inline constexpr char kAccuracyIsARelease[] =
    "A score on private rows is itself a release that no certificate counts. Publish this page "
    "only if the rows behind it are public.";

// "0.892"; three digits after the point.
std::string Decimal(double value);
std::string SignedDecimal(double value);
// A numeric member of `json` as Decimal(), or "–" if it is missing or null.
std::string DecimalOf(const Json& json, std::string_view name);
// "0.885 to 0.899" for a member that is a pair, otherwise "".
std::string IntervalOf(const Json& json, std::string_view name);
// A number without superfluous digits: "0.5", "10000".
std::string Plain(const Json& number);

}  // namespace coppice::report

#endif  // COPPICE_COMMON_PAGES_HTML_H_
