/** The console shows what a write changes before and after it, and why it would have no effect. */

import type { Browser, Page } from 'playwright-core';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';

const STARTED_WITHIN_MS = 90_000;

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

async function openTenant(merchant: string): Promise<ConsolePage> {
  const opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await opened.page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3D${merchant}`);
  await opened.page.getByRole('heading', { name: 'Limits in force' }).waitFor();
  return opened;
}

async function preview(page: Page, open: string, fields: Readonly<Record<string, string>> = {}): Promise<void> {
  await page.getByRole('button', { name: open }).click();
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries({ ...fields, Reason: 'test' })) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('The dry run says').waitFor();
}

/** The row of the dry run: what, now, then. */
async function said(page: Page, what: string): Promise<string> {
  const row = page
    .getByRole('dialog')
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: what, exact: true }) });
  return (await row.locator('th, td').allTextContents()).join('; ');
}

async function write(page: Page, verb: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: verb }).click();
  await page.getByText('The change is written.').waitFor();
}

async function put(path: string, body: unknown): Promise<void> {
  expect((await served.admin({ method: 'PUT', path, body })).status).toBe(200);
}

test('an override says from what to what, the first one and the next', async () => {
  const { page, faults, close } = await openTenant('merchant_o');
  await preview(page, 'Override…', { Requests: '250' });
  expect(await said(page, 'free_plan')).toBe('free_plan; 100 per minute; 250 per minute');
  await write(page, 'Write the override');
  await page.getByRole('cell', { name: '250 per minute' }).waitFor();
  await preview(page, 'Override…', { Requests: '400' });
  expect(await said(page, 'free_plan')).toBe('free_plan; 250 per minute; 400 per minute');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await preview(page, 'End the override');
  expect(await said(page, 'free_plan')).toBe('free_plan; 250 per minute; 100 per minute');
  expect(faults).toEqual([]);
  await close();
});

test('a plan says from what to what, limit by limit', async () => {
  const { page, faults, close } = await openTenant('merchant_p');
  await preview(page, 'Plan…', { Plan: 'enterprise' });
  expect(await said(page, 'Plan')).toBe('Plan; free; enterprise');
  expect(await said(page, 'free_plan')).toBe('free_plan; 100 per minute; 5,000 per minute');
  expect(await said(page, 'enterprise_day')).toBe('enterprise_day; none; 1,000,000 per day');
  expect(faults).toEqual([]);
  await close();
});

test('a block is not a limit of 0 per second: in its preview, on the page of the tenant, in the list of keys', async () => {
  const { page, faults, close } = await openTenant('merchant_b');
  await preview(page, 'Block…');
  expect(await said(page, 'free_plan')).toBe('free_plan; 100 per minute; denied by a block');
  await write(page, 'Write the block');
  await page.getByText('would be denied by a block').waitFor();
  while ((await served.ask([['merchant', 'merchant_b']], { hits: 5 })) !== 'OVER_LIMIT');
  expect(await page.getByText('0 per second').count()).toBe(0);
  await page.goto(`${served.url}/#/limited`);
  const row = page.getByRole('row').filter({ hasText: 'merchant=merchant_b' });
  await row.getByRole('cell', { name: 'a block', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('a write without effect says so before it is written', async () => {
  await put('/v1/blocks/payments/w-1', { entries: [{ key: 'merchant', value: 'merchant_w' }], reason: 'fraud' });
  const { page, faults, close } = await openTenant('merchant_w');
  await preview(page, 'Let pass…');
  const warnings = page.getByRole('dialog').locator('.warnings');
  await warnings.getByText('block').first().waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('audit rows lead to whom they are about, and a credit says who got how much', async () => {
  await put('/v1/tenants/payments/merchant_t', { plan: 'enterprise', reason: 'contract' });
  await put('/v1/blocks/payments/a-1', { entries: [{ key: 'merchant', value: 'merchant_x' }], reason: 'fraud' });
  await served.ask([['merchant', 'merchant_c']], { hits: 60 });
  const credit = { domain: 'payments', entries: [{ key: 'merchant', value: 'merchant_c' }], hits: 50, reason: 'sorry' };
  expect((await served.admin({ method: 'POST', path: '/v1/credits', body: credit })).status).toBe(200);
  const { page, faults, close } = await openTenant('merchant_c');
  const given = page.getByRole('row').filter({ hasText: 'credit of 50 hits' });
  await given.filter({ hasText: 'payments' }).getByRole('link', { name: 'merchant=merchant_c' }).waitFor();
  for (const [what, whom, heading] of [
    ['credit of 50 hits', 'merchant=merchant_c', 'merchant_c'],
    ['put block', 'merchant=merchant_x', 'merchant_x'],
    ['put tenant', 'merchant_t', 'merchant_t'],
  ] as const) {
    await page.goto(`${served.url}/#/audit`);
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    await page.getByRole('row').filter({ hasText: what }).getByRole('link', { name: whom }).click();
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }
  expect(faults).toEqual([]);
  await close();
});
