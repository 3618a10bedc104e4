#include "client/cli/studies/public_rows.h"

#include "client/cli/tables/input_table.h"
#include "client/cli/terminal/flags.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"

namespace coppice::cli {

void AddPublicRowsFlags(const Command& verb, PublicRowsFlags& flags) {
  verb.Add("--public", flags.file,
           "Table of public rows, CSV or LIBSVM; every device sees the partition that is made from "
           "them. - is stdin, read as CSV. none: there are no public rows, and the partition "
           "covers the schema's bounds evenly (for a file of that name write ./none)")
      .Takes("FILE")
      .Required();
  verb.Add("--schema", flags.schema, "Schema, JSON").Takes("FILE").Required();
  verb.Add("--public-labels", flags.labels,
           "as_given; or none, if public labels are missing (the file then needs no such column) "
           "or cannot be trusted: the partition is grown from features alone (hybrid), and private "
           "labels decide")
      .OneOf({"as_given", "none"})
      .ShowDefault();
  verb.Add("--rounding", flags.rounding,
           "For numbers: the range to which devices clamp a number before they round it to one of "
           "the ends (default: the curator's choice)")
      .Takes("LOW:HIGH")
      .Check([](const std::string& text) {
        return std::string(ParseNumberRange(text).status().message());
      });
  verb.AddSwitch("--strict", flags.strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
}

namespace {

void AddLabel(const Table& rows, size_t row, bool ignored, v1::CreateStudyRequest& request) {
  if (rows.schema().target()) {
    request.add_public_numbers(rows.target(row));
  } else {
    request.add_public_labels(ignored ? 0 : rows.label(row));
  }
}

}  // namespace

Status AddPublicRows(const PublicRowsFlags& flags, v1::CreateStudyRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema));
  *request.mutable_schema() = ToProto(*schema.schema);
  request.mutable_partition()->set_ignore_labels(flags.without_labels());
  request.mutable_partition()->set_from_schema(flags.without_rows());
  if (!flags.rounding.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const NumberRange rounding, ParseNumberRange(flags.rounding));
    *request.mutable_rounding() = ToProto(rounding);
  }
  if (flags.without_rows()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const Table rows,
                           ReadInputTable(flags.file, schema.schema,
                                          {.strict = flags.strict,
                                           .ignore_labels = flags.without_labels(),
                                           .format = schema.format}));
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    *request.add_public_rows() = ToProto(RowView(rows.row(i)));
    AddLabel(rows, i, flags.without_labels(), request);
  }
  return OkStatus();
}

}  // namespace coppice::cli
