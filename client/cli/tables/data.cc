#include <memory>
#include <string>
#include <vector>

#include "client/cli/tables/commands.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/tables.h"

namespace coppice::cli {
namespace {

struct SplitFlags {
  OutputFlags output;
  std::string data_file, parts, output_dir;
  uint64_t seed = 1;
};

Status Split(const SplitFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<TablePart> parts, ParseParts(flags.parts));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<WrittenPart> written,
                           SplitTable(flags.data_file, parts, flags.seed, flags.output_dir));
  Json files = Json::object();
  std::vector<Json> table;
  uint64_t rows = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    files[parts[i].name] = {{"file", written[i].file}, {"rows", written[i].rows}};
    table.push_back(
        {{"part", parts[i].name}, {"rows", written[i].rows}, {"file", written[i].file}});
    rows += written[i].rows;
  }
  if (flags.output.json) {
    PrintObject({{"rows", rows}, {"seed", flags.seed}, {"parts", files}}, /*json=*/true);
  } else {
    PrintRows(table, /*json=*/false);
  }
  Note("Rows given as --public are not protected: use only rows that anyone may see.");
  return OkStatus();
}

}  // namespace

void AddDataCommands(CommandLine& line) {
  const Command noun = line.AddGroup("data", "Your own tables, on this machine");
  const auto flags = std::make_shared<SplitFlags>();
  const Command verb =
      noun.AddCommand("split", "Split the rows of a CSV file into several files, by a public seed",
                      "coppice data split --data all.csv --parts public=200,private=rest,test=0.2 "
                      "--output-dir parts");
  verb.Add("--data", flags->data_file, "Table, CSV with a header line").Required().Takes("FILE");
  verb.Add("--parts", flags->parts,
           "NAME=ROWS by commas, where ROWS is a number (200), a fraction of all (0.2) or rest; "
           "each "
           "becomes NAME.csv")
      .Required()
      .Check(
          [](const std::string& text) { return std::string(ParseParts(text).status().message()); },
          "NAME=ROWS,...");
  verb.Add("--output-dir", flags->output_dir, "Folder for the files; created if missing")
      .Required()
      .Takes("DIR");
  verb.Add("--seed", flags->seed, "Decides which rows go where; public").ShowDefault();
  AddOutputFlags(verb, flags->output);
  SetAction(verb, flags, Split);
}

}  // namespace coppice::cli
