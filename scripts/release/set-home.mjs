/** Says where the project lives: writes the options into scripts/release/home.json, and from there into every file that names it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, exitWith } from '../process/repository.mjs';
import { FIELDS, HOME_FILE, malformed, optionOf, readHome } from './home/home.mjs';
import { writtenPlaces } from './home/places.mjs';
import { regenerate } from './regenerate.mjs';

const home = { ...readHome(), ...readOptions() };
const faults = malformed(home);
if (faults.length > 0) exitWith(faults.join('\n'));
writeFileSync(join(ROOT, HOME_FILE), `${JSON.stringify(home, undefined, 2)}\n`);
const changed = writtenPlaces({ root: ROOT, home }).filter(({ before, after }) => before !== after);
for (const { path, after } of changed) writeFileSync(join(ROOT, path), after);
for (const { path } of changed) console.log(`Wrote ${path}`);
if (changed.some(({ path }) => path.endsWith('values.yaml'))) await regenerate();

/** The options that were given, by field. */
function readOptions() {
  const fields = Object.fromEntries(Object.keys(FIELDS).map((field) => [optionOf(field), field]));
  const texts = Object.fromEntries(Object.keys(fields).map((option) => [option, /** @type {const} */ ({ type: 'string' })]));
  try {
    const { help, ...values } = parseArgs({ options: { ...texts, help: { type: 'boolean' } } }).values;
    if (help === true) {
      console.log(usage());
      process.exit();
    }
    return Object.fromEntries(Object.entries(values).map(([option, value]) => [String(fields[option]), String(value)]));
  } catch (error) {
    return exitWith(`${error instanceof Error ? error.message : String(error)}\n\n${usage()}`);
  }
}

function usage() {
  const lines = Object.entries(FIELDS).map(([field, { help, like }]) => `  --${optionOf(field).padEnd(14)}${help} (${like})`);
  return ['Usage: node scripts/release/set-home.mjs [OPTIONS]', ...lines].join('\n');
}
