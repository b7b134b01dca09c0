/** Each alert fires by its fault on live Weirs and resolves after it, and each dashboard query returns data. */

import { readFileSync } from 'node:fs';
import { makeAlerts } from '../../scripts/generate/monitoring/alerts';
import { renderRules } from '../../scripts/generate/monitoring/alert-rules';
import { makeDashboards } from '../../scripts/generate/monitoring/dashboards';
import { dividedBy } from '../../scripts/generate/monitoring/time-scale';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';
import { runCommand } from '../support/processes/command';
import { startPrometheus, type Prometheus } from '../support/servers/prometheus';
import { startWatched, WATCHED_ALERTS, type Watched } from './watched-weirs';

/** Minutes become fractions of a second: 5 min are 3 s, and 6 h 3.6 min. No range or threshold is under 3 s. */
const TIME_DIVISOR = 100;

const PATIENCE_MS = 120_000;

/** Its fault ends all Weirs. */
const PROVOKED_LAST = 'WeirNotScraped';

/** A process whose heap is nearly full ends soon: only promtool shows this alert. */
const NOT_PROVOKED = 'WeirMemoryNearLimit';

const begunMs = Date.now();
let watched: Readonly<Record<string, Watched>>;
let prometheus: Prometheus;
const open: { stop(): Promise<void> }[] = [];

/** The alerts that fire now, or that fired at some time since then, as `job alert`. */
async function firing({ sinceMs }: { readonly sinceMs?: number } = {}): Promise<Set<string>> {
  const alerts = 'ALERTS{alertstate="firing"}';
  // Some fire for a few seconds only, which a look at the present may miss.
  const query = sinceMs === undefined ? alerts : `count_over_time(${alerts}[${Date.now() - sinceMs + 1}ms])`;
  return new Set((await prometheus.query(query)).map(({ metric }) => `${metric.job} ${metric.alertname}`));
}

async function untilFired(expected: readonly string[], { sinceMs }: { readonly sinceMs: number }): Promise<void> {
  let fired = new Set<string>();
  await until(
    async () => {
      fired = await firing({ sinceMs });
      return expected.every((alert) => fired.has(alert));
    },
    { timeoutMs: PATIENCE_MS },
  ).catch(() => {
    throw new Error(`not fired: ${expected.filter((alert) => !fired.has(alert)).join(', ')}; fired: ${[...fired].join(', ')}`);
  });
}

async function untilQuiet(): Promise<void> {
  let now = new Set<string>();
  await until(async () => (now = await firing()).size === 0, { timeoutMs: PATIENCE_MS }).catch(() => {
    throw new Error(`still firing: ${[...now].join(', ')}`);
  });
}

function expectedOf(part: 'alerts' | 'alertsAfter'): string[] {
  return Object.entries(watched).flatMap(([job, each]) => (each[part] ?? []).map((alert) => `${job} ${alert}`));
}

beforeAll(async () => {
  const started = await startWatched();
  open.push(started);
  watched = started.watched;
  prometheus = await startPrometheus({
    jobs: Object.fromEntries(
      Object.entries(watched).map(([job, { weir, others = [] }]) => [job, [weir, ...others].map(({ debugPort }) => debugPort)]),
    ),
    rules: renderRules({ time: dividedBy(TIME_DIVISOR), alerts: WATCHED_ALERTS }),
  });
  open.push(prometheus);
}, PATIENCE_MS);

afterAll(async () => {
  for (const each of open.reverse()) await each.stop();
}, PATIENCE_MS);

test(
  'each alert fires by its fault on a live Weir, and resolves when the fault ends',
  async () => {
    const provoked = [...expectedOf('alerts'), ...expectedOf('alertsAfter')].map((alert) => alert.split(' ')[1]);
    expect(provoked.sort()).toEqual(
      makeAlerts()
        .map(({ name }) => name)
        .filter((name) => ![PROVOKED_LAST, NOT_PROVOKED].includes(name))
        .sort(),
    );

    const all = Object.values(watched);
    const targets = all.reduce((sum, { others = [] }) => sum + 1 + others.length, 0);
    await until(async () => (await prometheus.query('up == 1')).length === targets);
    await untilQuiet();
    const sinceMs = Date.now();
    await Promise.all(all.map(async (each) => each.begin()));
    await untilFired(expectedOf('alerts'), { sinceMs });
    await Promise.all(all.map(async (each) => each.end()));
    await untilFired(expectedOf('alertsAfter'), { sinceMs });
    await Promise.all(all.map(async (each) => each.restore?.()));
    await untilQuiet();
    figure(`${provoked.length} of ${provoked.length} alerts fired and resolved`);
  },
  3 * PATIENCE_MS,
);

/** The command of each section of the runbook. */
const COMMANDS = Array.from(
  readFileSync('docs/runbook.md', 'utf8').matchAll(/^## (\w+)\n[\s\S]*?^```sh\n([\s\S]*?)^```$/gm),
  ([, alert = '', command = '']) => [alert, command] as const,
);

test.each(COMMANDS)('the command of the runbook on %s shows something', async (alert, command) => {
  const all = Object.values(watched);
  const { weir } = all.find(({ alerts, alertsAfter = [] }) => [...alerts, ...alertsAfter].includes(alert)) ?? all[0]!;
  const { stdout, stderr } = await runCommand('sh', ['-c', command.replaceAll('localhost:6070', `127.0.0.1:${weir.debugPort}`)]);
  expect(stderr).toBe('');
  expect(stdout.split('\n').some((line) => line !== '' && !line.startsWith('#'))).toBe(true);
});

/** What Grafana replaces before it asks. */
function replaced(expression: string): string {
  return expression.replaceAll('$__rate_interval', '3s').replaceAll(/\$(?:cluster|namespace|job|domain|rule|instance)/g, '.*');
}

describe.each(Object.entries(makeDashboards()))('%s', (_file, { panels, annotations, templating }) => {
  const queries = panels.flatMap((panel) =>
    'targets' in panel ? panel.targets.map(({ expr, refId }) => [`${panel.title} ${refId}`, expr] as const) : [],
  );

  async function hasData(expression: string): Promise<boolean> {
    const series = await prometheus.queryRange(replaced(expression), { fromMs: begunMs, toMs: Date.now() });
    return series.some(({ values }) => values.some((value) => !Number.isNaN(value)));
  }

  test.each(queries)('the query of panel %s returns data', async (_title, expression) => {
    expect(await hasData(expression)).toBe(true);
  });

  test.each((annotations.list ?? []).map(({ name, expr }) => [name, expr ?? ''] as const))(
    'the query of annotation %s returns data',
    async (_name, expression) => {
      expect(await hasData(expression)).toBe(true);
    },
  );

  const variables = (templating.list ?? []).flatMap(({ name, definition }) =>
    definition === undefined ? [] : [[name, definition] as const],
  );
  test.each(variables)('the variable %s has values', async (_name, definition) => {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? [];
    const values = (await prometheus.labelSets(replaced(selector))).map((labels) => labels[label]);
    expect(values).toContainEqual(expect.any(String));
  });
});

// The last test: nothing is left to watch after it.
test(
  'without any Weir the alert of absence fires',
  async () => {
    expect([...(await firing())].filter((alert) => alert.endsWith(PROVOKED_LAST))).toEqual([]);
    const sinceMs = Date.now();
    for (const { weir, others = [] } of Object.values(watched)) await Promise.all([weir, ...others].map((each) => each.stop()));
    await untilFired(
      Object.keys(watched).map((job) => `${job} ${PROVOKED_LAST}`),
      { sinceMs },
    );
  },
  PATIENCE_MS,
);
