/** The console shows decisions as they are made, filtered and in a bounded number of rows. */

import type { Browser } from 'playwright-core';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

/** As many as the page keeps. */
const ROWS_MAX = 200;

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

async function openTail(): Promise<ConsolePage> {
  const opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await opened.page.goto(`${served.url}/#/tail`);
  await opened.page.getByText('Choose Start to see decisions as they are made.').waitFor();
  return opened;
}

test('decisions appear as they are made, filtered, until the pause', async () => {
  await served.admin({
    method: 'PUT',
    path: '/v1/blocks/payments/tail-1',
    body: { entries: [{ key: 'merchant', value: 'merchant_b' }], reason: 'fraud' },
  });
  const { page, faults, close } = await openTail();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('Follows this instance, at most 20 decisions a second.').waitFor();
  expect(await served.ask([['merchant', 'merchant_p']], { hits: 40 })).toBe('OK');
  await page.getByText('40 hits, 60 left of 100 per minute').waitFor();
  await until(
    async () =>
      (await served.ask([
        ['merchant', 'merchant_b'],
        ['endpoint', '/payment'],
      ])) === 'OVER_LIMIT',
  );
  await page.getByText('1 hit, denied by the block tail-1').first().waitFor();
  await page.getByText('1 hit, not counted').first().waitFor();
  await page.getByLabel('Text').fill('MERCHANT_P');
  await page.getByRole('link', { name: 'merchant=merchant_b' }).first().waitFor({ state: 'detached' });
  await page.getByLabel('denied').check();
  await page.getByText('0 of').waitFor();
  await page.getByLabel('all', { exact: true }).check();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Paused: no decision is read.').waitFor();
  expect(await served.ask([['merchant', 'merchant_p']], { hits: 7 })).toBe('OK');
  await page.getByRole('link', { name: 'merchant=merchant_p' }).click();
  await page.getByRole('heading', { level: 1, name: 'merchant_p' }).waitFor();
  expect(await page.getByText('7 hits').count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test('a page that is left ends its stream', async () => {
  const { page, faults, close } = await openTail();
  const opened = page.waitForRequest(/\/v1\/tail/);
  await page.getByRole('button', { name: 'Start' }).click();
  await opened;
  await page.getByText('Follows this instance').waitFor();
  const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/tail'));
  await page.getByRole('link', { name: 'Instances' }).click();
  await ended;
  expect(faults).toEqual([]);
  await close();
});

test('the page keeps 200 rows, and says how many it dropped', async () => {
  const { page, faults, close } = await openTail();
  const event = (number: number) => ({
    at: '2026-01-01T00:00:00Z',
    pid: 1,
    domain: 'payments',
    over_limit: false,
    skipped: number === 0 ? 30 : 0,
    descriptors: [{ entries: [{ key: 'n', value: String(number) }], hits: 1, over_limit: false }],
  });
  const body = Array.from({ length: ROWS_MAX + 50 }, (_, number) => `data: ${JSON.stringify(event(number))}\n\n`).join('');
  let streams = 0;
  await page.route('**/v1/tail*', async (route) => {
    streams += 1;
    if (streams === 1) await route.fulfill({ contentType: 'text/event-stream', body });
    else await route.continue();
  });
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('50 older rows were dropped, since the page keeps 200.').waitFor();
  await page.getByText('30 more decisions came faster than 20 a second, and are not here').waitFor();
  expect(await page.getByRole('rowheader').count()).toBe(ROWS_MAX);
  await page.getByRole('link', { name: 'n=249', exact: true }).waitFor();
  // The server ends a stream from time to time; the next one goes on.
  await page.getByText('Follows this instance').waitFor();
  expect(streams).toBe(2);
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('0 of 0 rows.').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('an API that is away is asked again', async () => {
  const { page, faults, close } = await openTail();
  let tries = 0;
  await page.route('**/v1/tail*', async (route) => {
    tries += 1;
    if (tries === 1) await route.abort();
    else await route.continue();
  });
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('The admin API does not answer.').waitFor();
  await page.getByText('Follows this instance').waitFor();
  await page.getByText('The admin API does not answer.').waitFor({ state: 'detached' });
  expect(tries).toBe(2);
  expect(faults).toEqual([]);
  await close();
});
