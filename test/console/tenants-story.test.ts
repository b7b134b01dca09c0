/** The story of docs/tenants.md is done in the console by clicks. */

import type { Browser, Page } from 'playwright-core';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

let served: ServedConsole;
let browser: Browser;
let opened: ConsolePage;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
  opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

function ask(merchant: string, hits: number): Promise<string> {
  return served.ask(
    [
      ['endpoint', '/payment'],
      ['merchant', merchant],
    ],
    { hits },
  );
}

interface ChangeByClicks {
  /** The button that opens the dialog. */
  readonly open: string;
  /** Other fields than the reason, by label. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly reason: string;
  /** What the dry run shows. */
  readonly preview: string;
  readonly write: string;
}

async function change(page: Page, { open, fields = {}, reason, preview, write }: ChangeByClicks): Promise<void> {
  await page.getByRole('button', { name: open }).click();
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries({ ...fields, Reason: reason })) {
    const field = dialog.getByLabel(label);
    if (label === 'Lasts') await field.selectOption(value);
    else await field.fill(value);
  }
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('The dry run says').waitFor();
  await dialog.getByText(preview).first().waitFor();
  await dialog.getByRole('button', { name: write }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('The change is written.').waitFor();
}

async function goToTenant(page: Page, merchant: string): Promise<void> {
  await page.getByRole('link', { name: 'Tenants', exact: true }).click();
  await page.getByLabel('Tenant or descriptor').fill(merchant);
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { level: 1, name: merchant }).waitFor();
}

test('who is limited now, and why: two clicks to the tenant, one to the explanation', async () => {
  const { page } = opened;
  expect(await ask('merchant_42', 100)).toBe('OK');
  expect(await ask('merchant_42', 60)).toBe('OVER_LIMIT');
  await page.getByRole('link', { name: 'Who is limited', exact: true }).click();
  await page.getByRole('group', { name: 'Denied most' }).getByRole('link', { name: 'merchant=merchant_42' }).click();
  await page.getByText('by default').waitFor();
  await page.getByRole('rowheader', { name: 'free_plan' }).waitFor();
  await page.getByRole('cell', { name: '100 per minute' }).waitFor();
  await page.getByRole('link', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'Verdict' }).waitFor();
  await page.getByText('free_plan').first().waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Override…' }).waitFor();
});

test('300 a minute for some days: what is used stays used', async () => {
  const { page } = opened;
  await change(page, {
    open: 'Override…',
    fields: { Requests: '300', Lasts: '7 days' },
    reason: 'sale until Friday',
    preview: '300 per minute',
    write: 'Write the override',
  });
  await page.getByRole('cell', { name: '300 per minute' }).waitFor();
  await until(async () => (await ask('merchant_42', 190)) === 'OK');
  expect(await ask('merchant_42', 110)).toBe('OVER_LIMIT');
});

test('a credit gives its hits back at once', async () => {
  const { page } = opened;
  await change(page, { open: 'Credit…', fields: { Hits: '50' }, reason: 'our mistake', preview: 'left', write: 'Give the credit' });
  expect(await ask('merchant_42', 50)).toBe('OK');
});

test('a plan: found by name, changed after its dry run, in force at once', async () => {
  const { page } = opened;
  await goToTenant(page, 'merchant_9');
  expect(await ask('merchant_9', 101)).toBe('OVER_LIMIT');
  await change(page, {
    open: 'Plan…',
    fields: { Plan: 'enterprise' },
    reason: 'signed the contract',
    preview: 'enterprise',
    write: 'Write the plan',
  });
  await page.getByRole('rowheader', { name: 'enterprise_day' }).waitFor();
  await until(async () => (await ask('merchant_9', 4_000)) === 'OK');
  await page.getByRole('link', { name: 'Tenants', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'merchant_9' }).filter({ hasText: 'enterprise' }).waitFor();
});

test('a block denies at once, and its end lets pass at once', async () => {
  const { page } = opened;
  await goToTenant(page, 'merchant_13');
  await change(page, {
    open: 'Block…',
    fields: { Lasts: '8 hours' },
    reason: 'chargebacks',
    preview: 'in force',
    write: 'Write the block',
  });
  await page.getByText('would be denied by a block').waitFor();
  await until(async () => (await ask('merchant_13', 1)) === 'OVER_LIMIT');
  await change(page, { open: 'End the block', reason: 'cleared with the bank', preview: 'none', write: 'End the block' });
  await page.getByText('would pass').waitFor();
  await until(async () => (await ask('merchant_13', 1)) === 'OK');
});

test('a pass makes a tenant unlimited, and its end limits it again', async () => {
  const { page } = opened;
  await change(page, { open: 'Let pass…', reason: 'load test', preview: 'in force', write: 'Write the pass' });
  await page.getByRole('button', { name: 'End the pass' }).waitFor();
  await until(async () => (await ask('merchant_13', 5_000)) === 'OK');
  await change(page, { open: 'End the pass', reason: 'load test is over', preview: 'none', write: 'End the pass' });
  await until(async () => (await ask('merchant_13', 5_000)) === 'OVER_LIMIT');
});

test('an override ends early, and the limit of the plan is back', async () => {
  const { page } = opened;
  await goToTenant(page, 'merchant_42');
  await page.getByRole('cell', { name: '300 per minute' }).waitFor();
  await change(page, { open: 'End the override', reason: 'sale is over', preview: 'none', write: 'End the override' });
  await page.getByRole('cell', { name: '100 per minute' }).waitFor();
  await until(async () => (await ask('merchant_42', 101)) === 'OVER_LIMIT');
  const { json } = await served.admin({ path: '/v1/overrides' });
  expect(json).toMatchObject({ items: [] });
});

test('who did that: the audit has each change with its author and reason', async () => {
  const { page, faults } = opened;
  await page.getByRole('link', { name: 'Audit', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  await page.getByRole('cell', { name: 'load test is over' }).waitFor();
  const rows: readonly string[] = await page.evaluate(
    `Array.from(document.querySelectorAll('tbody tr'), ({ children }) => [1, 2, 5].map((at) => children[at].textContent).join('; '))`,
  );
  expect(rows).toEqual([
    'support-1; delete override; sale is over',
    'support-1; delete pass; load test is over',
    'support-1; put pass; load test',
    'support-1; delete block; cleared with the bank',
    'support-1; put block; chargebacks',
    'support-1; put tenant; signed the contract',
    'support-1; credit of 50 hits; our mistake',
    'support-1; put override; sale until Friday',
  ]);
  await page.getByLabel('Tenant').fill('merchant_13');
  await page.getByLabel('What').selectOption('block');
  await page.getByRole('cell', { name: 'load test', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: 'chargebacks' }).waitFor();
  expect(await page.getByRole('rowheader').count()).toBe(2);
  await page.getByLabel('When').selectOption({ label: 'last hour' });
  await page.getByRole('cell', { name: 'chargebacks' }).waitFor();
  await page.getByLabel('Who').fill('nobody');
  await page.getByLabel('Tenant').click();
  await page.getByText('No change is like that.').waitFor();
  expect(faults).toEqual([]);
});
