/** The page of metrics lists exactly the metrics that Weir serves. */

import { readFileSync } from 'node:fs';
import { CONFIG_METRICS, FAIR_METRICS, METRICS } from '../../../src/server/observability/metrics/metrics';
import { renderMetricsDoc } from '../../../scripts/generate/docs/metrics-doc';
import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { httpRequest } from '../../support/clients/http-client';
import { startWeir } from '../../support/processes/weir-process';

test('docs/metrics.md equals the output of the tables', () => {
  const written = readFileSync('docs/metrics.md', 'utf8');
  if (written !== renderMetricsDoc()) throw new Error('docs/metrics.md is out of date; run node scripts/generate/docs.mjs');
});

test('a server serves exactly the metrics of the tables', async () => {
  const weir = await startWeir({ config: 'deploy/example/payments.yaml' });
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  await weir.stop();
  const served = Array.from(body.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => `${name} ${type}`);
  const own = served.filter((line) => /^(?:weir|ratelimit)_/.test(line));
  const expected = [
    ...Object.values(METRICS),
    ...Object.values(CONFIG_METRICS),
    ...Object.values(FAIR_METRICS),
    CERTIFICATE_METRIC,
    ...Object.values(LIMIT_METRICS),
    ...Object.values(RULE_METRICS),
    ...Object.values(DOMAIN_METRICS),
  ].map(({ name, type }) => `${name} ${type}`);
  expect(own.sort()).toEqual(expected.sort());
  expect(served).toContain('nodejs_eventloop_lag_seconds gauge');
});
