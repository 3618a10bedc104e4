// What a ticket draws, and the whole way from a device's text to its report.

#include "client/device/privatizer.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/report.pb.h"
#include "tests/vectors/cases/sample_studies.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

constexpr uint64_t kTicketsOfAStudy = 5;

Json TicketCase(const Ticket& ticket) {
  const TicketDraw draw = DrawOf(ticket);
  Json trees = Json::object(), columns = Json::object();
  for (const uint32_t count : {1, 2, 3, 7, 100, 1024}) {
    trees[std::to_string(count)] = draw.Tree(count);
  }
  for (const uint32_t count : {1, 2, 5, 64, 4095, 65535}) {
    columns[std::to_string(count)] = draw.Column(count);
  }
  return {{"ticket", Hex(ticket.ToBytes())}, {"tree_of", trees}, {"column_of", columns}};
}

Json StudyJson(const SampleStudy& study) {
  const std::string terms = SerializeTerms(study.terms);
  std::vector<std::string> trees;
  for (const std::string& tree : study.trees) trees.push_back(Hex(tree));
  return {{"study", study.terms.study},
          {"terms", Hex(terms)},
          {"fingerprint", ToHex(FingerprintOf(terms))},
          {"trees", trees}};
}

// Rows as their owners keep them, by column name: proper, out of bounds, unreadable, of unknown
// category or class, incomplete and empty.
std::vector<TextRow> Rows() {
  const std::string long_id(64, 'i');
  return {
      {{"age", "49.5"},
       {"visits", "3"},
       {"region", "south"},
       {"sick", "mild"},
       {"pressure", "128"},
       {"person", "p-0001"}},
      {{"age", "50"},
       {"visits", "4"},
       {"region", "north"},
       {"sick", "no"},
       {"pressure", "71.5"},
       {"person", "\xc3\xa9"}},
      {{"age", "1e3"},
       {"visits", "3.5"},
       {"region", "west"},
       {"sick", "severe"},
       {"pressure", "900"},
       {"person", long_id}},
      {{"age", "-0"},
       {"visits", "-0.4"},
       {"region", ""},
       {"sick", "dead"},
       {"pressure", "high"},
       {"person", long_id + "i"}},
      {{"age", " 77.25 "},
       {"visits", "2.5"},
       {"region", " east"},
       {"sick", "Mild"},
       {"pressure", "-5"},
       {"person", "7"}},
      {{"age", "0x10"},
       {"visits", "-1.5"},
       {"region", "east"},
       {"sick", ""},
       {"pressure", ""},
       {"person", ""}},
      {{"age", "nan"}, {"visits", "1e999"}, {"sick", "no"}, {"pressure", "200"}},
      {{"age", "12 years"}, {"visits", "+5"}, {"region", "south"}, {"pressure", "130.125"}},
      {},
  };
}

Json TextJson(const TextRow& text) {
  Json json = Json::object();
  for (const auto& [column, value] : text) json[column] = value;
  return json;
}

LabelledRow EncodedRow(const Terms& terms, const TextRow& text) {
  LabelledRow row = terms.schema->EncodeTotally(text);
  const auto id = text.find(terms.joined_by);
  if (!terms.joined_by.empty() && id != text.end()) row.id = id->second;
  return row;
}

std::string ReportBytes(const PrivateReport& report) {
  v1::Report proto;
  proto.set_ticket(report.ticket.ToBytes());
  proto.set_payload(report.payload);
  proto.set_public_values(report.public_values);
  return proto.SerializeAsString();
}

Json ReportCase(const Privatizer& privatizer, const TextRow& text, uint64_t number) {
  const Ticket ticket = NumberedTicket(number);
  const std::string seed = std::to_string(number);
  const FixedStream stream("", seed);
  OpenSslRandom random;
  const auto report = privatizer.Privatize(EncodedRow(privatizer.terms(), text), ticket, random);
  Json json = {{"study", privatizer.terms().study},
               {"row", TextJson(text)},
               {"ticket", Hex(ticket.ToBytes())},
               {"seed", Hex(seed)},
               {"status", CodeName(report.status())}};
  if (report.ok()) {
    json["tree"] = TreeOfTicket(ticket, privatizer.terms().trees);
    json["payload"] = Hex(report->payload);
    json["public_values"] = Hex(report->public_values);
    json["report"] = Hex(ReportBytes(*report));
  }
  json["next_word"] = *random.UniformBelow(1 << 16);
  return json;
}

}  // namespace

VectorFile MakeTicketVectors() {
  std::vector<Json> cases = {TicketCase(Ticket())};
  for (uint64_t number = 0; number < 40; ++number) {
    cases.push_back(TicketCase(NumberedTicket(number)));
  }
  const Json header = {
      {"what", "Which tree and which column a ticket draws, out of how many"},
      {"read", "docs/protocol.md#tickets"},
      {"units", "ticket: 32 bytes, hexadecimal. tree_of, column_of: by the number of choices"}};
  return {.name = "tickets.json", .text = Render(header, {{"cases", cases}})};
}

VectorFile MakeReportVectors() {
  std::vector<Json> studies, cases;
  for (const SampleStudy& study : SampleStudies()) {
    studies.push_back(StudyJson(study));
    const Fingerprint fingerprint = FingerprintOf(SerializeTerms(study.terms));
    const Privatizer privatizer =
        *Privatizer::Create(study.terms, fingerprint, AllTrees(study.forest));
    for (const TextRow& row : Rows()) {
      for (uint64_t i = 0; i < kTicketsOfAStudy; ++i) {
        cases.push_back(ReportCase(privatizer, row, cases.size()));
      }
    }
  }
  const Json header = {
      {"what",
       "Reports of whole studies: from terms, trees, a ticket, the text of a row and a stream of "
       "random bytes to the bytes of a Report, or the status with which a device declines. Streams "
       "are for checking only, and no way to make noise"},
      {"read", "docs/protocol.md#test-vectors"},
      {"units",
       "bytes: hexadecimal. terms, trees, report: serialized coppice.v1.Terms, Tree, Report. row: "
       "text by the column's name. tree: the number of the ticket's tree. next_word: the word that "
       "is drawn after"},
      {"neighbours",
       "any row for any other; with public features, any with the same values of these; where the "
       "study is joined by an id, any label of that id"}};
  return {.name = "reports.json", .text = Render(header, {{"studies", studies}, {"cases", cases}})};
}

}  // namespace coppice::vectors
