// Answers the rows of sample_models with DuckDB, by exported queries.
//
//   node duckdb_reader.js FOLDER...
//
// Runs input.sql and model.sql of each FOLDER on the rows of input.csv, and writes what answers.sql selects to
// duckdb.csv.
'use strict';
const fs = require('fs');
const path = require('path');
const {DuckDBInstance} = require('@duckdb/node-api');

async function answer(folder) {
  const read = (name) => fs.readFileSync(path.join(folder, name), 'utf8');
  const literal = (name) => `'${path.join(folder, name).replaceAll("'", "''")}'`;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(read('input.sql'));
  await connection.run(`COPY coppice_input FROM ${literal('input.csv')} (FORMAT csv, AUTO_DETECT false, DELIM ',', QUOTE '"', ESCAPE '"', HEADER false, NULL '\\N')`);
  await connection.run(`CREATE TEMP VIEW answers AS ${read('model.sql')}`);
  await connection.run(`COPY (${read('answers.sql')}) TO ${literal('duckdb.csv')} (FORMAT csv, HEADER false)`);
  connection.closeSync();
  instance.closeSync();
}

async function main() {
  for (const folder of process.argv.slice(2)) await answer(folder);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
