/** The console lists exceptions with their end and effect, finds them, and ends one with a confirmed click. */

import type { Browser } from 'playwright-core';
import { openBrowser, openConsole } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

let served: ServedConsole;
let browser: Browser;

const limit = { requests_per_unit: 300, unit: 'minute' };

const inHours = (hours: number): string => new Date(Date.now() + 3_600_000 * hours).toISOString();

const merchant = (value: string, key = 'merchant') => [{ key, value }];

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
  const put = async (path: string, body: object): Promise<void> => {
    expect(await served.admin({ method: 'PUT', path: `/v1/${path}`, body })).toMatchObject({ status: 200 });
  };
  await put('overrides/payments/stray', { entries: merchant('merchant_42', 'merchent'), limit });
  await put('overrides/payments/sale', { entries: merchant('merchant_42'), limit, until: inHours(5), reason: 'sale' });
  await put('blocks/payments/fraud', { entries: merchant('merchant_13'), until: inHours(1), reason: 'chargebacks' });
  await put('plans/payments/free', { limits: [{ ...limit, requests_per_unit: 200 }], reason: 'summer' });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

async function rowsOf(role: keyof typeof CONSOLE_TOKENS, address = 'exceptions') {
  const opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS[role] });
  await opened.page.goto(`${served.url}/#/${address}`);
  await opened.page.getByRole('heading', { level: 1, name: 'Exceptions' }).waitFor();
  await opened.page.getByRole('table').waitFor();
  return opened;
}

test('what ends first is at the top, with its effect, and a link to whom it concerns', async () => {
  const { page, close } = await rowsOf('viewer');
  try {
    await page.getByRole('rowheader', { name: 'stray' }).waitFor();
    expect(await page.getByRole('rowheader').allTextContents()).toEqual(['fraud', 'sale', 'stray', 'free']);
    const stray = page.getByRole('row').filter({ hasText: 'stray' });
    await stray.getByText('no effect').waitFor();
    await stray.getByText('did you mean "merchant"?').waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: 'fraud' })
      .getByText(/^(59 min|1 h)/)
      .waitFor();
    // A viewer changes nothing.
    expect(await page.getByRole('button', { name: /^End/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'merchant=merchant_42', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'merchant_42' }).waitFor();
  } finally {
    await close();
  }
});

test('search and filters are in the address', async () => {
  const { page, close } = await rowsOf('viewer', 'exceptions?text=SALE');
  try {
    await page.getByRole('rowheader', { name: 'sale' }).waitFor();
    expect(await page.getByRole('rowheader').count()).toBe(1);
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Search').blur();
    await page.getByLabel('Effect').selectOption('no effect');
    await page.getByRole('rowheader', { name: 'stray' }).waitFor();
    await until(async () => (await page.getByRole('rowheader').count()) === 1);
    expect(page.url()).toContain('state=none');
    await page.getByLabel('Kind').selectOption('pass');
    await page.getByText('No exception is like that.').waitFor();
  } finally {
    await close();
  }
});

test('a stray override is ended with one click that is confirmed', async () => {
  const { page, close } = await rowsOf('support', 'exceptions?state=none');
  try {
    await page.getByRole('button', { name: 'End the override stray' }).click();
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByRole('button', { name: 'End the override stray' }).click();
    await page.getByRole('button', { name: 'End the override stray now' }).click();
    await page.getByText('The override stray has ended').waitFor();
    await page.getByText('No exception is like that.').waitFor();
    expect(await served.admin({ path: '/v1/overrides/payments/stray' })).toMatchObject({ status: 404 });
  } finally {
    await close();
  }
});

test('plans of the configuration are on the page of tenants, beside their values at run time', async () => {
  const { page, close } = await rowsOf('viewer');
  try {
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    const enterprise = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'enterprise' }) });
    await enterprise.getByText('enterprise_plan 5,000 per minute, enterprise_day 1,000,000 per day').waitFor();
    await enterprise.getByText(/payments\.yaml:\d+/).waitFor();
    await page.getByRole('row').filter({ hasText: 'free_plan 100 per minute' }).getByText('200 per minute by admin-1: summer').waitFor();
  } finally {
    await close();
  }
});

test('values of a plan are ended by the role admin alone', async () => {
  const asSupport = await rowsOf('support', 'exceptions?kind=plan');
  await asSupport.page.getByText('role admin').waitFor();
  await asSupport.close();
  const { page, close } = await rowsOf('admin', 'exceptions?kind=plan');
  try {
    await page.getByRole('button', { name: 'End the values of a plan free' }).click();
    await page.getByRole('button', { name: 'End the values of a plan free now' }).click();
    await until(async () => (await served.admin({ path: '/v1/plans/payments/free' })).status === 404);
  } finally {
    await close();
  }
});
