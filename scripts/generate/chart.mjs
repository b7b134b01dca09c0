/**
 * Writes what the chart deploy/helm/weir takes from elsewhere: the schema of its values, the table of its README, and the example.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { ROOT } from '../process/repository.mjs';
import { renderValues, valueRows } from './chart/values-table.mjs';
import { templateChecks, valuesSchema } from './chart/values-schema.mjs';

const DEPLOY = join(ROOT, 'deploy');
const { values: options } = parseArgs({ options: { chart: { type: 'string', default: join(DEPLOY, 'helm', 'weir') } } });
/** `--chart FOLDER` names a copy of it. */
const CHART = options.chart;

/** Helm reads no file outside of a chart. */
const EXAMPLE = 'payments.yaml';

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
load('../process/load-typescript.cjs');
const { SETTINGS_TABLE } = /** @type {typeof import('../../src/configuration/settings/table/settings-table.js')} */ (
  load('../../src/configuration/settings/table/settings-table.ts')
);

writeFileSync(join(CHART, 'files', EXAMPLE), readFileSync(join(DEPLOY, 'example', EXAMPLE)));
const text = readFileSync(join(CHART, 'values.yaml'), 'utf8');
const weir = { settings: Object.values(SETTINGS_TABLE), ownVariables: ownVariables() };
writeFileSync(join(CHART, 'values.schema.json'), `${JSON.stringify(valuesSchema(parse(text), weir), undefined, 2)}\n`);
writeFileSync(join(CHART, 'files', 'checks.json'), `${JSON.stringify(templateChecks(weir), undefined, 2)}\n`);
writeValues();

/** The variables that the templates write. Those of a Redis are written with a prefix. */
function ownVariables() {
  const template = readFileSync(join(CHART, 'templates', 'parts', '_environment.tpl'), 'utf8');
  const names = Array.from(template.matchAll(/^- name: ([A-Z_]+)$|"name" "([A-Z_]+)"/gm), ([, written, passed]) => written ?? passed ?? '');
  const suffixes = Array.from(template.matchAll(/\.prefix \}\}(_[A-Z_]+)|"%s(_[A-Z_]+)" \.prefix/g), ([, a, b]) => a ?? b ?? '');
  return new Set([...names, ...['REDIS', 'REDIS_PERSECOND'].flatMap((prefix) => suffixes.map((suffix) => `${prefix}${suffix}`))]);
}

function writeValues() {
  const path = join(CHART, 'README.md');
  const [begin, end] = ['<!-- begin values: written by `node scripts/generate/chart.mjs` -->', '<!-- end values -->'];
  const readme = readFileSync(path, 'utf8');
  const [before, after] = [readme.split(begin)[0], readme.split(end)[1]];
  writeFileSync(path, `${before ?? ''}${begin}\n\n${renderValues(valueRows(text))}\n\n${end}${after ?? ''}`);
}
