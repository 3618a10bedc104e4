// The parts that every page is made of: escaped text, tables, and the document around them.
//
// Guarantee  a page is complete by itself: it asks for no other file, runs no script, and its
//            Content-Security-Policy forbids both. Text() is the only way for data into a page, and
//            leaves no character that HTML could take for its own.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_REPORT_HTML_H_
#define COPPICE_COMMON_REPORT_HTML_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"

namespace coppice::report {

using Json = nlohmann::ordered_json;

// `data` as text of a page, or of an attribute in double quotes. Bytes that are no valid UTF-8, and
// control characters, become U+FFFD.
std::string Text(absl::string_view data);

// What stands around the body of a page. All but `body` is plain text.
struct Document {
  std::string kind;   // "evaluation"
  std::string title;  // "Model m-91c0"
  std::string lead;   // what the page says, in a sentence
  std::string body;   // HTML
};
std::string RenderDocument(const Document& document);

// The style sheet of all pages, style/chart.css and then style/page.css, and what a
// Content-Security-Policy calls it: "sha256-...".
absl::string_view StyleSheet();
std::string StyleHash();
// style/chart.css, the part that a drawing needs: a file of its own carries it.
absl::string_view ChartStyleSheet();

// One cell of a table. `html` is markup already; Cell() and NumberCell() escape.
struct TableCell {
  std::string html;
  std::string css_class{};
};
TableCell Cell(absl::string_view text);
TableCell NumberCell(absl::string_view text);

// A table with a caption; the first cell of each row is its heading.
struct TableData {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<TableCell>> rows;
};
std::string RenderTable(const TableData& table);

// A section with a heading. `body` is HTML.
std::string Section(absl::string_view heading, absl::string_view body);
std::string Paragraph(absl::string_view text);
// A list of an array's texts.
std::string Sentences(const Json& texts);
// A paragraph that warns or limits.
std::string Remark(absl::string_view text);
std::string Details(absl::string_view summary, absl::string_view body);

// A number that a page is about, with what it is and what it is compared with.
struct Figure {
  std::string name, value, note;
};
std::string RenderFigures(const std::vector<Figure>& figures);

// What a page says of every accuracy.
inline constexpr char kAccuracyIsARelease[] =
    "A score on private rows is itself a release that no certificate counts. Publish this page "
    "only if the rows behind it are public.";

// "0.892"; three digits after the point.
std::string Decimal(double value);
std::string SignedDecimal(double value);
// A member of `json` that is a number, as Decimal(), or "–" where it is missing or null.
std::string DecimalOf(const Json& json, absl::string_view name);
// "0.885 to 0.899" of a member that is a pair, or "".
std::string IntervalOf(const Json& json, absl::string_view name);
// A number without digits that say nothing: "0.5", "10000".
std::string Plain(const Json& number);

}  // namespace coppice::report

#endif  // COPPICE_COMMON_REPORT_HTML_H_
