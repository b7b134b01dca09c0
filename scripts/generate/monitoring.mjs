/** Writes the dashboards under deploy/grafana/ and the alerts under deploy/prometheus/. It needs a build, because it runs dist/. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, exitWith } from '../process/repository.mjs';

const USAGE = `Usage: node scripts/generate/monitoring.mjs [--runbook URL] [--envoy-timeout MS] [--out FOLDER]
  --runbook URL        where docs/runbook.md is published; alerts link to its sections
  --envoy-timeout MS   the timeout of Envoy's rate_limit_service, if it is not 20 ms
  --out FOLDER         default: deploy/`;

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
const { renderPrometheusRule, renderRules, RUNBOOK } = /** @type {typeof import('../../src/observability/monitoring/alert-rules.js')} */ (
  load('../../dist/observability/monitoring/alert-rules.js')
);
const { renderDashboards } = /** @type {typeof import('../../src/observability/monitoring/dashboards.js')} */ (
  load('../../dist/observability/monitoring/dashboards.js')
);

const options = readOptions();
/** @type {Record<string, string>} */
const files = {
  'prometheus/weir-alerts.yaml': renderRules(options),
  'prometheus/prometheus-rule.yaml': renderPrometheusRule(options),
};
for (const [name, text] of Object.entries(renderDashboards())) files[`grafana/${name}`] = text;
for (const [name, text] of Object.entries(files)) {
  const path = join(options.out, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { runbook: { type: 'string' }, 'envoy-timeout': { type: 'string' }, out: { type: 'string' } },
    });
    const { runbook = RUNBOOK, 'envoy-timeout': timeout = '20', out = join(ROOT, 'deploy') } = values;
    const envoyTimeoutMs = Number(timeout);
    if (!(envoyTimeoutMs > 0)) throw new Error(`--envoy-timeout ${timeout}: write a number of milliseconds, such as 20`);
    return { runbook, out, alerts: { envoyTimeoutMs } };
  } catch (error) {
    return exitWith(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
