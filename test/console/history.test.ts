/** The console draws the last hour of each key, rule and instance, and the usage of a tenant over a day. */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openConsole } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

const TENANT = '#/tenant?domain=payments&entries=merchant%3Dmerchant_9';

let served: ServedConsole;
let browser: Browser;
let prometheus: Server;
/** What the Prometheus of the test answers. */
let answer: RequestListener;

beforeAll(async () => {
  prometheus = createServer((request, response) => {
    answer(request, response);
  });
  await new Promise<void>((resolve) => prometheus.listen(0, '127.0.0.1', resolve));
  const { port } = prometheus.address() as AddressInfo;
  [served, browser] = await Promise.all([serveConsole({ env: { ADMIN_PROMETHEUS_URL: `http://127.0.0.1:${port}` } }), openBrowser()]);
  expect(await served.ask([['merchant', 'merchant_9']], { hits: 100 })).toBe('OK');
  expect(await served.ask([['merchant', 'merchant_9']], { hits: 50 })).toBe('OVER_LIMIT');
  await until(async () => {
    const replies = await Promise.all(['/v1/history/keys', '/v1/history/rules'].map((path) => served.admin({ path })));
    return replies.every(({ json }) => (json as { readonly items: readonly unknown[] }).items.length > 0);
  });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
  prometheus.closeAllConnections();
  prometheus.close();
});

test.each([
  ['key', 'limited', 'merchant=merchant_9', /^Last hour: denied at most [1-9][\d,]* in a minute, now [\d,]+$/],
  [
    'rule',
    'rules',
    'payments merchant',
    /^Last hour: asked at most [1-9][\d,]* in a minute, now [\d,]+; denied at most [1-9][\d,]* in a minute, now [\d,]+$/,
  ],
  ['instance', 'instances', '', /^Last hour: decisions at most [\d.,]+ in a second, now [\d.,]+$/],
])('each %s has a picture of its last hour', async (_, address, name, picture) => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  await page.goto(`${served.url}/#/${address}`);
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', name === '' ? {} : { name, exact: true }) });
  await row.getByRole('img', { name: picture }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('shares have bars as long as they are', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  await page.goto(`${served.url}/#/limited`);
  const share = page.getByRole('row').filter({ hasText: 'merchant=merchant_9' }).getByRole('cell', { name: '100 %' }).first();
  await share.waitFor();
  expect(await share.locator('.bar > span').getAttribute('style')).toBe('width: 100%;');
  expect(faults).toEqual([]);
  await close();
});

test.each(['', 'limited'])(
  'on the page "%s" denied hits are stacked by key, and a click on a layer or its name leads to the key',
  async (address) => {
    const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
    for (const toKey of [
      () => page.locator('.layer').first(),
      () => page.locator('.legend').getByRole('link', { name: 'merchant=merchant_9' }),
    ]) {
      await page.goto(`${served.url}/#/${address}`);
      // The layer of one minute is some pixels wide.
      await toKey().dispatchEvent('click');
      await page.getByRole('heading', { level: 1, name: 'merchant_9' }).waitFor();
    }
    expect(faults).toEqual([]);
    await close();
  },
);

async function openTenant(url: string): Promise<{ readonly page: Page; readonly faults: string[]; readonly close: () => Promise<void> }> {
  const opened = await openConsole(browser, { url, token: CONSOLE_TOKENS.viewer });
  await opened.page.goto(`${url}/${TENANT}`);
  await opened.page.getByRole('heading', { name: 'Usage' }).waitFor();
  return opened;
}

test('the usage of a tenant over an hour', async () => {
  const { page, faults, close } = await openTenant(served.url);
  await page.getByRole('img', { name: /^Hits a minute, \d+ readings\. Now asked: \d+, denied: \d+\.$/ }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('the usage of a tenant over a day comes from Prometheus', async () => {
  const nowS = Math.floor(Date.now() / 1_000);
  const asked: string[] = [];
  answer = (request, response) => {
    asked.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('query') ?? '');
    const series = (question: string, hits: string) => ({
      metric: { question },
      values: [
        [nowS - 600, '1'],
        [nowS, hits],
      ],
    });
    response.end(JSON.stringify({ status: 'success', data: { result: [series('asked', '1234'), series('denied', '56')] } }));
  };
  const { page, faults, close } = await openTenant(served.url);
  await page.getByLabel('1 day').click();
  await page.getByRole('img', { name: 'Hits in ten minutes, 2 readings. Now asked: 1,234, denied: 56.' }).waitFor();
  expect(asked).toEqual(['sum by (question) (weir_top_key_hits{domain="payments",key="merchant=merchant_9"})']);
  expect(faults).toEqual([]);
  await close();
});

test('a Prometheus that fails is said in words, and the hour is still there', async () => {
  answer = (_, response) => response.writeHead(503).end();
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  // Another key: an answer is used again for a minute.
  await page.goto(`${served.url}/${TENANT.replace('merchant_9', 'merchant_5')}`);
  await page.getByLabel('1 day').click();
  await page.getByText('ADMIN_PROMETHEUS_URL: Prometheus gave no usage: it answered 503').waitFor();
  await page.getByLabel('1 h', { exact: true }).click();
  await page.getByRole('img', { name: /^Hits a minute/ }).waitFor();
  await page.getByText('In this hour it was not among the keys that ask most.').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test(
  'without a Prometheus the page says what to set',
  async () => {
    const without = await serveConsole();
    const { page, faults, close } = await openTenant(without.url);
    await page.getByLabel('1 day').click();
    await page.getByText('Weir keeps an hour. A day comes from Prometheus: set ADMIN_PROMETHEUS_URL and METRIC_TOP_KEYS.').waitFor();
    expect(faults).toEqual([]);
    await close();
    await without.close();
  },
  STARTED_WITHIN_MS,
);
