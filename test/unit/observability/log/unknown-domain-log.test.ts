/** Requests for a domain that is not configured are one log line a minute. */

import { UnknownDomainLog } from '../../../../src/server/observability/log/unknown-domain-log';

test('one line a minute has the domain and the number of requests since the last', () => {
  const lines: unknown[] = [];
  let nowMs = 0;
  const log = new UnknownDomainLog({
    log: { warn: (fields: unknown, sentence?: string) => lines.push([fields, sentence]) },
    nowMs: () => nowMs,
  });
  log.record('shp');
  log.record('shp');
  nowMs = 59_999;
  log.record('x'.repeat(1000));
  nowMs = 60_000;
  log.record('x'.repeat(1000));
  expect(lines).toEqual([
    [
      { code: 'domain_not_found', domain: 'shp', requests: 1 },
      expect.stringMatching(/^a request names the domain "shp", which is not configured, and gets OK without a limit; .*filter$/),
    ],
    [
      { code: 'domain_not_found', domain: 'x'.repeat(64), requests: 3 },
      expect.stringMatching(/\(3 requests for unknown domains since the last message\)$/),
    ],
  ]);
});
