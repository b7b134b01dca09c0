/** A replay decides each request as a Weir does that is sent the same requests at the same times, under every algorithm. */

import { ALGORITHMS } from '../../../../src/domain/algorithm/algorithms';
import type { RateLimitRequest } from '../../../../src/domain/descriptor/descriptor';
import { VirtualService } from '../../../../src/program/offline/virtual-service';
import type { ReplayReport } from '../../../../src/program/cli/replay/report/replay-report';
import type { LoadedConfiguration } from '../../../../src/program/cli/replay/run/run-replay';
import { randomFrom, seededInFull, type Random } from '../../../support/random/random';
import { configurationOf, replayOf } from '../../../support/replay/replay-of';

const LOGS = 1_000;
const LOGS_A_CONFIGURATION = 10;
const REQUESTS = 40;
/** Both ways are compared for these logs, which are mapped ones. */
const BOTH_EVERY = 10;
const START_US = Date.UTC(2026, 10, 23, 23, 59, 0) * 1_000;
const TIMEOUT_MS = 120_000;

const MAP = `format: json
time: time
domain: shop
hits: hits
descriptors:
  - [{key: merchant, field: merchant}]
  - [{key: path, field: path}, {key: plan, value: free}]
`;

interface Line {
  readonly atUs: number;
  readonly merchant: string | undefined;
  readonly path: string | undefined;
  readonly hits: number;
}

function randomConfiguration(random: Random): string {
  const limit = (): string => {
    const algorithm = ALGORITHMS[random(ALGORITHMS.length)] ?? 'token_bucket';
    const requests = `${random(6)}${random(12) === 0 ? ', replaces: [{name: other}]' : random(6) === 0 ? ', name: other' : ''}`;
    if (random(6) === 0)
      return `{unit: ${['day', 'month'][random(2)] ?? ''}, requests_per_unit: ${requests}, algorithm: fixed_window, calendar: true}`;
    return `{unit: ${['second', 'minute', 'hour'][random(3)] ?? ''}, requests_per_unit: ${requests}, algorithm: ${algorithm}}`;
  };
  const mode = () => ['', ', shadow_mode: true', ', quota_mode: true'][Math.max(0, random(7) - 4)] ?? '';
  return `domain: shop
descriptors:
  - {key: merchant, rate_limit: ${limit()}${mode()}}
  - {key: merchant, value: m1, rate_limit: ${limit()}}
  - {key: merchant, value: 'n*', rate_limit: ${limit()}}
  - key: path
    descriptors:
      - {key: plan, value: free, rate_limit: ${limit()}${mode()}}
`;
}

function randomLines(random: Random): Line[] {
  let atUs = START_US + random(2_000_000);
  return Array.from({ length: REQUESTS }, () => {
    atUs += [0, 1, 1_000 * random(1_000), 1_000_000 * random(20), 60_000_000 * random(3)][random(5)] ?? 0;
    return {
      atUs,
      merchant: random(5) === 0 ? undefined : `${['m', 'n', 'ü'][random(3)] ?? ''}${random(3)}`,
      path: random(3) === 0 ? undefined : `/v${random(2)}`,
      hits: [1, 1, 1, 2, 0, 3][random(6)] ?? 1,
    };
  });
}

function requestOf({ merchant, path, hits }: Line): RateLimitRequest {
  const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  const own = hits === 0 ? { hits: 0 } : {};
  const descriptors = [
    ...(merchant === undefined ? [] : [{ ...own, entries: [{ key: 'merchant', value: bytes(merchant) }] }]),
    ...(path === undefined
      ? []
      : [
          {
            ...own,
            entries: [
              { key: 'path', value: path },
              { key: 'plan', value: 'free' },
            ],
          },
        ]),
  ];
  return { domain: 'shop', descriptors, hits: Math.max(1, hits) };
}

/** The time in microseconds, as RFC 3339. */
function timeText(us: number): string {
  return `${new Date(Math.floor(us / 1_000)).toISOString().slice(0, -1)}${String(us % 1_000).padStart(3, '0')}Z`;
}

function mappedLine({ atUs, merchant, path, hits }: Line): string {
  return JSON.stringify({ time: timeText(atUs), merchant, path, hits });
}

function decisionLine(line: Line): string {
  const { domain, descriptors, hits } = requestOf(line);
  const text = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8');
  return JSON.stringify({
    time: timeText(line.atUs),
    domain,
    descriptors: descriptors.map((each) => ({
      ...each,
      entries: each.entries.map(({ key, value }) => ({ key, value: text(value) })),
      ...(line.hits === 0 && { check: true }),
    })),
    hits,
    code: 'OK',
    decided_by: 'store',
  });
}

function serviceOf({ ruleSet, modes, keyPrefix }: LoadedConfiguration): VirtualService {
  return new VirtualService({ ruleSet, modes, keyPrefix, records: [], startUs: START_US, bucketsMax: 100_000 });
}

/** What the live services decide, in the form of a report. */
async function expectedOf(lines: readonly Line[], configurations: readonly LoadedConfiguration[]) {
  const services = configurations.map(serviceOf);
  const denied = services.map(() => 0);
  const newly = [0, 0];
  const rules = new Map<string, [requests: number, denied: number]>();
  let requests = 0;
  for (const line of lines) {
    const request = requestOf(line);
    if (request.descriptors.length === 0) continue;
    requests += 1;
    const answers = [];
    for (const service of services) answers.push(await service.ask(request, line.atUs));
    const codes = answers.map(({ decision }) => decision.overallCode);
    for (const [i, code] of codes.entries()) if (code === 'OVER_LIMIT') denied[i] = (denied[i] ?? 0) + 1;
    if (codes[0] === 'OK' && codes[1] === 'OVER_LIMIT') newly[0] = (newly[0] ?? 0) + 1;
    if (codes[0] === 'OVER_LIMIT' && codes[1] === 'OK') newly[1] = (newly[1] ?? 0) + 1;
    const { decided, decision } = answers[0] ?? {};
    for (const [i, match] of decided?.matched.matches.entries() ?? []) {
      if (match.limits.length === 0) continue;
      const name = ['shop', ...match.path].join('.');
      const [asked, over] = rules.get(name) ?? [0, 0];
      rules.set(name, [asked + 1, over + (decision?.statuses[i]?.denies === true ? 1 : 0)]);
    }
  }
  return { requests, denied, newly, rules: Object.fromEntries([...rules].sort()) };
}

function figuresOf({ requests, configurations, newly_denied, newly_admitted, rules }: ReplayReport) {
  for (const { requests: sum, keys } of [newly_denied, newly_admitted]) expect(keys.reduce((all, key) => all + key.requests, 0)).toBe(sum);
  for (const { admitted, denied } of configurations) expect(admitted + denied).toBe(requests);
  return {
    requests,
    denied: configurations.map(({ denied }) => denied),
    newly: [newly_denied.requests, newly_admitted.requests],
    rules: Object.fromEntries(
      rules
        .filter((rule) => rule.requests > 0)
        .map((rule) => [rule.rule, [rule.requests, rule.denied]] as const)
        .sort(),
    ),
  };
}

test(
  'random logs under random configurations, through a mapping and as decision logs',
  async () => {
    const { numRuns, seed } = seededInFull(LOGS);
    const random = randomFrom({ seed });
    let denials = 0;
    let texts: string[] = [];
    let configurations: LoadedConfiguration[] = [];
    for (let log = 0; log < numRuns; log += 1) {
      if (log % LOGS_A_CONFIGURATION === 0) {
        texts = [randomConfiguration(random), randomConfiguration(random)];
        configurations = await Promise.all(texts.map(configurationOf));
      }
      const lines = randomLines(random);
      const expected = await expectedOf(lines, configurations);
      denials += expected.newly[0] ?? 0;
      const requests = lines.filter((line) => requestOf(line).descriptors.length > 0);
      const replayMapped = () => replayOf({ logs: [lines.map(mappedLine).join('\n')], map: MAP, configurations });
      const replayLogged = () => replayOf({ logs: [requests.map(decisionLine).join('\n')], configurations });
      const report = await (log % 2 === 0 ? replayMapped() : replayLogged());
      expect({ texts, ...figuresOf(report) }).toEqual({ texts, ...expected });
      if (log % BOTH_EVERY !== 0) continue;
      const logged = await replayLogged();
      expect(report.newly_denied).toEqual(logged.newly_denied);
      expect(report.rules).toEqual(logged.rules);
    }
    expect(denials).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
