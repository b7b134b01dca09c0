/** Each decision of the failure mode is counted, and reported by a hook or by one warning a minute. */

import { FailureReport } from '../../../src/program/library/limiter/failure-report';

const MINUTE_MS = 60_000;
const AWAY = new Error('Weir is away');

function reportOf({ onFailure }: { readonly onFailure?: (error: Error) => void } = {}) {
  const clock = { ms: 0 };
  const warnings: string[] = [];
  const report = new FailureReport({
    failureMode: 'open',
    onFailure,
    nowMs: () => clock.ms,
    warn: (sentence) => warnings.push(sentence),
  });
  return { clock, warnings, report };
}

test('without a hook the first failure warns at once, and later ones once a minute with their number and the last reason', () => {
  const { clock, warnings, report } = reportOf();
  expect(report.decide(AWAY)).toEqual({ allowed: true, decidedBy: 'failure-mode', headers: [], statuses: [], error: AWAY });
  for (let n = 0; n < 99; n += 1) report.decide(AWAY);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('The failure mode open allowed 1 request without a decision of Weir. Last reason: Weir is away.');
  clock.ms = MINUTE_MS - 1;
  report.decide(AWAY);
  expect(warnings).toHaveLength(1);
  clock.ms = MINUTE_MS;
  report.decide(new Error('still away'));
  expect(warnings[1]).toContain('allowed 101 requests without a decision of Weir. Last reason: still away.');
  expect(report.failures).toBe(102);
});

test('a hook gets each failure instead, and one that throws is a warning and changes no decision', () => {
  const seen: Error[] = [];
  const heard = reportOf({ onFailure: (error) => seen.push(error) });
  for (let n = 0; n < 3; n += 1) heard.report.decide(AWAY);
  expect({ seen, warnings: heard.warnings, failures: heard.report.failures }).toEqual({
    seen: [AWAY, AWAY, AWAY],
    warnings: [],
    failures: 3,
  });
  const throwing = reportOf({
    onFailure: () => {
      throw new Error('no log');
    },
  });
  expect(throwing.report.decide(AWAY)).toMatchObject({ allowed: true, error: AWAY });
  expect(throwing.warnings[0]).toContain('the hook onFailure has thrown: no log');
});
