// What a C program declares of its rows, and what may leave the device in the clear.

#include <functional>
#include <string>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "client/device/c/handles.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kDigits[] = {"1", "2"};
constexpr const char* kClasses[] = {"no", "yes"};

coppice_own_column Number(const char* name, double min, double max) {
  coppice_own_column column{};
  column.name = name;
  column.kind = COPPICE_COLUMN_NUMBER;
  column.min = min;
  column.max = max;
  return column;
}

coppice_own_column Texts(const char* name, int32_t kind, const char* const* values) {
  coppice_own_column column{};
  column.name = name;
  column.kind = kind;
  column.values = values;
  column.num_values = 2;
  return column;
}

std::vector<coppice_own_column> SampleColumns() {
  coppice_own_column age = Number("age", 18, 90);
  age.is_whole = 1;
  age.unit = "years";
  return {Texts("postcode", COPPICE_COLUMN_CATEGORY, kDigits), age,
          Texts("status", COPPICE_COLUMN_CLASS, kClasses)};
}

TEST(COwnSchemaTest, IsTheSchemaThatItsColumnsSay) {
  const std::vector<coppice_own_column> columns = SampleColumns();
  ASSERT_OK_AND_ASSIGN(const auto schema, ReadOwnSchema(columns.data(), columns.size()));
  ASSERT_EQ(schema->num_features(), 2u);
  EXPECT_EQ(schema->features()[0].name, "postcode");
  EXPECT_THAT(schema->features()[0].values, ElementsAre("1", "2"));
  EXPECT_EQ(schema->features()[1].min, 18);
  EXPECT_EQ(schema->features()[1].max, 90);
  EXPECT_TRUE(schema->features()[1].integer);
  EXPECT_EQ(schema->features()[1].unit, "years");
  EXPECT_EQ(schema->label(), "status");
  EXPECT_THAT(schema->classes(), ElementsAre("no", "yes"));
}

TEST(COwnSchemaTest, MayHaveANumberAsItsLabel) {
  coppice_own_column rent = Number("rent", 0, 900);
  rent.kind = COPPICE_COLUMN_TARGET;
  const std::vector<coppice_own_column> columns = {rent, Number("age", 18, 90)};
  ASSERT_OK_AND_ASSIGN(const auto schema, ReadOwnSchema(columns.data(), columns.size()));
  EXPECT_EQ(schema->label(), "rent");
  ASSERT_TRUE(schema->target().has_value());
  EXPECT_EQ(schema->target()->max, 900);
}

TEST(COwnSchemaTest, NamesTheColumnThatIsWrong) {
  const auto refused = [](const std::function<void(std::vector<coppice_own_column>&)>& change,
                          const std::string& why) {
    std::vector<coppice_own_column> columns = SampleColumns();
    change(columns);
    EXPECT_THAT(ReadOwnSchema(columns.data(), columns.size()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused([](auto& columns) { columns[0].name = nullptr; }, "the name of an own column");
  refused([](auto& columns) { columns[0].values = nullptr; }, "own column \"postcode\"");
  refused([](auto& columns) { columns[0].kind = COPPICE_COLUMN_ID; }, "own column \"postcode\"");
  refused([](auto& columns) { columns[1].max = 3; }, "age");
  refused([](auto& columns) { columns[1].name = "postcode"; }, "postcode");
  refused([](auto& columns) { columns.pop_back(); }, "no label");
  refused([](auto& columns) { columns.push_back(columns.back()); }, "two labels");
  EXPECT_EQ(ReadOwnSchema(nullptr, 1).status().code(), StatusCode::kInvalidArgument);
}

TEST(COwnSchemaTest, IsReadWhenTheDeviceIsOpened) {
  const TempDir dir;
  const std::string path = dir.path() + "/journal";
  std::vector<coppice_own_column> columns = SampleColumns();
  coppice_device_options options;
  coppice_device_options_init(&options);
  options.journal_path = path.c_str();
  options.require_pin = 0;
  options.own_columns = columns.data();
  options.num_own_columns = columns.size();
  coppice_device* device = nullptr;
  coppice_error error{};
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_OK) << error.text;
  coppice_device_close(device);

  columns[1].max = columns[1].min - 1;
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_INVALID_ARGUMENT);
  EXPECT_THAT(error.text, HasSubstr("age"));
  options.own_columns = nullptr;
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_INVALID_ARGUMENT);
  EXPECT_THAT(error.text, HasSubstr("own_columns"));
  options.num_own_columns = 0;
  options.num_join_ids = 1;
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_INVALID_ARGUMENT);
  EXPECT_THAT(error.text, HasSubstr("join_ids"));
  const char* const name = "postcode";
  options.join_ids = options.shows = &name;
  options.num_shows = 1;
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_INVALID_ARGUMENT);
  EXPECT_THAT(error.text, HasSubstr("leave it out of one of the lists"));
  // A program that was built before there was any of it knows a shorter struct.
  options.struct_size = offsetof(coppice_device_options, join_ids);
  EXPECT_EQ(coppice_device_open(&options, &device, &error), COPPICE_OK) << error.text;
  coppice_device_close(device);
}

}  // namespace
}  // namespace coppice
