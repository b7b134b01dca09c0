/** Writes the dashboards and alerts into the chart, from which Helm reads them, and deploy/prometheus/prometheus-rule.yaml. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, exitWith } from '../process/repository.mjs';

const USAGE = `Usage: node scripts/generate/monitoring.mjs [--runbook URL] [--envoy-timeout MS] [--instances N] [--out FOLDER]
  --runbook URL        where docs/runbook.md is published
  --envoy-timeout MS   the timeout of Envoy, if not 20
  --instances N        the minimum of instances, if not 2
  --out FOLDER         default: deploy/`;

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
load('../process/load-typescript.cjs');
const { renderPrometheusRule, renderRules } = /** @type {typeof import('./monitoring/alert-rules.js')} */ (
  load('./monitoring/alert-rules.ts')
);
const { DEFAULT_ALERT_OPTIONS } = /** @type {typeof import('./monitoring/alerts.js')} */ (load('./monitoring/alerts.ts'));
const { RUNBOOK } = /** @type {typeof import('./monitoring/runbook-link.js')} */ (load('./monitoring/runbook-link.ts'));
const { renderDashboards } = /** @type {typeof import('./monitoring/dashboards.js')} */ (load('./monitoring/dashboards.ts'));

const options = readOptions();
const { out } = options;
const CHART_FILES = join(ROOT, 'deploy', 'helm', 'weir', 'files');
write(out === undefined ? join(CHART_FILES, 'alerts.yaml') : join(out, 'alerts.yaml'), renderRules(options));
write(join(out ?? join(ROOT, 'deploy', 'prometheus'), 'prometheus-rule.yaml'), renderPrometheusRule(options));
for (const [name, text] of Object.entries(renderDashboards(options))) write(join(out ?? CHART_FILES, 'dashboards', name), text);

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { runbook: { type: 'string' }, 'envoy-timeout': { type: 'string' }, instances: { type: 'string' }, out: { type: 'string' } },
    });
    const { runbook = RUNBOOK, out } = values;
    const { envoyTimeoutMs, instancesMin, ...alerts } = DEFAULT_ALERT_OPTIONS;
    return {
      runbook,
      out,
      alerts: {
        ...alerts,
        envoyTimeoutMs: readNumber('--envoy-timeout', values['envoy-timeout'], {
          byDefault: envoyTimeoutMs,
          what: 'a number of milliseconds',
        }),
        instancesMin: readNumber('--instances', values.instances, { byDefault: instancesMin, what: 'a number of instances' }),
      },
    };
  } catch (error) {
    return exitWith(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {{ byDefault: number, what: string }} options
 */
function readNumber(name, text, { byDefault, what }) {
  if (text === undefined) return byDefault;
  const number = Number(text);
  if (!(number > 0)) throw new Error(`${name} ${text}: write ${what}, such as ${byDefault}`);
  return number;
}
