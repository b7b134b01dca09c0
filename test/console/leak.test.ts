/**
 * An open console keeps no more heap, elements and listeners after hundreds of polls.
 *
 * The short form steps the clock of the page from poll to poll; the long form also keeps a console open for ten minutes of real time.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, CDPSession, Page, Request } from 'playwright-core';
import { pageCallsOf } from '../../bench/consoles/page-calls';
import { openBrowser, openConsole } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { figure } from '../support/docs/figure';
import { isLong } from '../support/random/form';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

/** Of each page. */
const POLLS = isLong ? 600 : 100;

/** The first polls compile code and fill caches of the browser, the last of them after some hundred. */
const WARM_UP_POLLS = isLong ? 600 : 20;

/** Through all pages. */
const ROUNDS = isLong ? 50 : 6;
const WARM_UP_ROUNDS = ROUNDS;

const TEST_MS = isLong ? 400_000 : 90_000;

/** Of the clock of the page, for the calls that pages repeat. */
const STEPS = 6;
const STEP_MS = 5_000;

const OPEN_MS = 600_000;
const OPEN_WARM_UP_ANSWERS = 20;

/** Between two requests that Weir decides while the console is open. */
const ASK_EVERY_MS = 1_000;

/** A page that kept its answers would keep over 5 KB of each poll. */
const HEAP_GROWTH_MAX = 300_000;

/** Of what the page keeps. */
const LOOKS = 20;
const LOOK_EVERY_MS = 100;

/** The chart of ten minutes fills meanwhile. */
const OPEN_HEAP_GROWTH_MAX = 500_000;

/** Most elements that come and go with the figures, such as the rows of a table. */
const NODE_GROWTH_MAX = 100;

interface Watched {
  readonly address: string;
  readonly heading: string;
  /** The call that the page repeats. */
  readonly path: string;
  readonly everyMs: number;
}

const PAGES: readonly Watched[] = [
  { address: '', heading: 'Overview', path: '/v1/live', everyMs: 5_000 },
  { address: 'limited', heading: 'Who is limited', path: '/v1/top', everyMs: 5_000 },
  { address: 'tenant?domain=payments&entries=merchant%3Dmerchant_9', heading: 'merchant_9', path: '/v1/explain', everyMs: 5_000 },
];

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
  await served.ask([['merchant', 'merchant_9']], { hits: 100 });
  await served.ask([['merchant', 'merchant_9']], { hits: 50 });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

interface Kept {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

/** What the page keeps once the garbage is collected. */
async function keptBy(session: CDPSession): Promise<Kept> {
  // The second collection takes what finalizers of the first have let go.
  for (let collected = 0; collected < 2; collected += 1) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const valueOf = (name: string): number => metrics.find((each) => each.name === name)?.value ?? NaN;
  return { heapBytes: valueOf('JSHeapUsedSize'), nodes: valueOf('Nodes'), listeners: valueOf('JSEventListeners') };
}

/** The same once no call is on its way any more: its listeners are there until it is answered. `atMost`: what leaks never comes down to it. */
async function keptAtRest(session: CDPSession, atMost = Infinity): Promise<Kept> {
  let [kept, before] = [await keptBy(session), NaN];
  for (let look = 0; look < LOOKS && (kept.listeners !== before || kept.listeners > atMost); look += 1) {
    await pause(LOOK_EVERY_MS);
    before = kept.listeners;
    kept = await keptBy(session);
  }
  return kept;
}

async function watch(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  return session;
}

interface Compared {
  readonly what: string;
  readonly begin: Kept;
  readonly end: Kept;
  readonly heapGrowthMax?: number;
}

function compare({ what, begin, end, heapGrowthMax = HEAP_GROWTH_MAX }: Compared): void {
  const kb = ({ heapBytes }: Kept): string => (heapBytes / 1_000).toFixed(0);
  figure(
    `${what}: heap ${kb(begin)} to ${kb(end)} KB, ${begin.nodes} to ${end.nodes} nodes, ${begin.listeners} to ${end.listeners} listeners`,
  );
  expect(end.heapBytes - begin.heapBytes).toBeLessThanOrEqual(heapGrowthMax);
  expect(end.nodes - begin.nodes).toBeLessThanOrEqual(NODE_GROWTH_MAX);
  expect(end.listeners - begin.listeners).toBeLessThanOrEqual(0);
}

test(
  'hundreds of polls leave no more heap, elements and listeners than the first ones',
  async () => {
    const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin });
    const session = await watch(page);
    await page.clock.install();
    for (const { address, heading, path, everyMs } of PAGES) {
      await page.goto(`${served.url}/#/${address}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      const poll = async (times: number): Promise<void> => {
        for (let polled = 0; polled < times; polled += 1) {
          const answered = page.waitForResponse((response) => response.url().includes(path));
          await page.clock.runFor(everyMs);
          await (await answered).finished();
        }
      };
      await poll(WARM_UP_POLLS);
      const begin = await keptAtRest(session);
      await poll(POLLS);
      compare({ what: `${heading}, ${POLLS} polls`, begin, end: await keptAtRest(session, begin.listeners) });
    }
    expect(faults).toEqual([]);
    await close();
  },
  TEST_MS,
);

test(
  'pages that were left leave nothing behind',
  async () => {
    const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin });
    const session = await watch(page);
    const round = async (): Promise<void> => {
      for (const name of ['Who is limited', 'Tenants', 'Exceptions', 'Rules', 'Try', 'Live tail', 'Audit', 'Instances', 'Overview']) {
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
        await page.getByRole('heading', { level: 1, name }).waitFor();
      }
      await page.getByText('By rule').waitFor();
      await page.getByText('Nothing is degraded').waitFor();
    };
    for (let turn = 0; turn < WARM_UP_ROUNDS; turn += 1) await round();
    const begin = await keptAtRest(session);
    for (let turn = 0; turn < ROUNDS; turn += 1) await round();
    compare({ what: `${ROUNDS} rounds through 9 pages`, begin, end: await keptAtRest(session, begin.listeners) });
    expect(faults).toEqual([]);
    await close();
  },
  TEST_MS,
);

test('the benchmark of open consoles asks what the pages ask', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin });
  await page.clock.install();
  const asked: string[] = [];
  const unanswered = new Set<Request>();
  page.on('request', (request) => {
    unanswered.add(request);
    asked.push([request.method(), request.url().slice(served.url.length), request.postData() ?? ''].join(' '));
  });
  page.on('requestfinished', (request) => unanswered.delete(request));
  page.on('requestfailed', (request) => unanswered.delete(request));
  // All timers are those of the installed clock.
  await page.reload();
  for (const { name, address, calls } of pageCallsOf({ domain: 'payments', key: 'merchant', value: 'merchant_9' })) {
    await page.goto(`${served.url}/#/${address}`);
    await page.getByRole('heading', { level: 1, name: name === 'Tenant' ? 'merchant_9' : name }).waitFor();
    await until(() => calls.every(({ target }) => asked.some((each) => each.includes(target))) && unanswered.size === 0);
    // The first step aligns the timers, which began when their answers came.
    await page.clock.runFor(STEP_MS);
    await until(() => unanswered.size === 0);
    asked.length = 0;
    for (let stepped = 0; stepped < STEPS; stepped += 1) {
      await page.clock.runFor(STEP_MS);
      await until(() => unanswered.size === 0);
    }
    const expected = calls.flatMap(({ method, target, body = '', everyMs }) =>
      Array.from({ length: (STEPS * STEP_MS) / everyMs }, () => [method, target, body].join(' ')),
    );
    expect(asked.toSorted()).toEqual(expected.toSorted());
  }
  expect(faults).toEqual([]);
  await close();
});

if (isLong)
  test(
    'a console that is open for ten minutes under traffic keeps no more than at the begin',
    async () => {
      const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin });
      const session = await watch(page);
      let polls = 0;
      page.on('response', () => {
        polls += 1;
      });
      const endMs = performance.now() + OPEN_MS;
      // Until the chart has its first lines.
      await until(() => polls > OPEN_WARM_UP_ANSWERS, { timeoutMs: 120_000 });
      const begin = await keptAtRest(session);
      polls = 0;
      for (let turn = 0; performance.now() < endMs; turn += 1) {
        await served.ask([['merchant', `merchant_${turn % 20}`]], { hits: 1 + (turn % 60) });
        await pause(ASK_EVERY_MS);
      }
      compare({
        what: `ten minutes, ${polls} answers`,
        begin,
        end: await keptAtRest(session, begin.listeners),
        heapGrowthMax: OPEN_HEAP_GROWTH_MAX,
      });
      expect(faults).toEqual([]);
      await close();
    },
    OPEN_MS + STARTED_WITHIN_MS,
  );
