/** `node scripts/generate/requirements.mjs [RESULTS [PAGE]]`: fills the last column of docs/requirements.md from the last run of each stage. */
import { readFileSync, writeFileSync } from 'node:fs';
import { exitWith } from '../process/repository.mjs';
import { fillRequirements, PAGE, readResults, RESULTS_FOLDER } from '../test/requirements.mjs';

const [folder = RESULTS_FOLDER, file = PAGE] = process.argv.slice(2);
const { problems: mixed, ...results } = readResults(folder);
if (mixed.length > 0) exitWith(mixed.join('\n'));
const { page, problems, skipped } = fillRequirements(readFileSync(file, 'utf8'), results);
if (problems.length + skipped.length > 0) exitWith([...problems, ...skipped].join('\n'));
writeFileSync(file, page);
