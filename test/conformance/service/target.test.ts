/** `npm run conformance` finds that a Weir process agrees with the model over gRPC. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/servers/ports';
import { seeded } from '../../support/random/random';
import { startWeir } from '../../support/processes/weir-process';
import { reportLines } from './run-conformance';
import { runTarget } from './target';

const REQUESTS = 1_000;
const RUN_SECONDS_MAX = 20;

test(`a process answers and counts ${REQUESTS} random gRPC requests as the model does`, async () => {
  const configDir = mkdtempSync(join(tmpdir(), 'weir-conformance-'));
  writeFileSync(join(configDir, 'first.yaml'), 'domain: first\n');
  const statsdPort = await freePort();
  const statsd = { USE_STATSD: 'true', STATSD_HOST: '127.0.0.1', STATSD_PORT: String(statsdPort), STATS_FLUSH_INTERVAL: '1s' };
  const weir = await startWeir({ config: configDir, env: { DEFAULT_ALGORITHM: 'fixed_window', DEFAULT_OVERDRAFT: 'true', ...statsd } });
  const said: string[] = [];
  try {
    const target = `127.0.0.1:${weir.grpcPort}`;
    const { seed } = seeded(1);
    const metricsUrl = `http://127.0.0.1:${weir.debugPort}/metrics`;
    const report = await runTarget({
      target,
      configDir,
      seed,
      requests: REQUESTS,
      statsdPort,
      metricsUrl,
      runSecondsMax: RUN_SECONDS_MAX,
      say: (line) => said.push(line),
    });
    expect(said[0]).toContain(`waiting until ${target} answers by them`);
    const [answers, statistics] = reportLines(report);
    expect(answers).toBe(`${REQUESTS} requests: ${REQUESTS} answered as Weir, ${report.asReference} as envoyproxy/ratelimit, 0 as neither`);
    // In statsd and for Prometheus.
    expect(statistics).toMatch(/^\d{3,} statistics: 0 differ from those of Weir/);
    expect(report.statistics?.notWeirs).toEqual([]);
  } finally {
    await weir.stop();
  }
}, 90_000);
