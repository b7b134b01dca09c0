/** The console finds each of 1,000 rules and 100,000 tenants, with few requests and few elements. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';

const STARTED_WITHIN_MS = 90_000;

const RULES = 1_000;

const TENANTS = 100_000;

/** Tenants that are denied, by request. */
const DENIED_AT_ONCE = 50;
const DENIED_REQUESTS = 20;

/** Of a page. A table has 100 to 200 rows of at most 9 cells, each with some elements. */
const ELEMENTS_MAX = 5_000;

/** Of a page, until it shows its rows. */
const REQUESTS_MAX = 10;

let folder: string;
let served: ServedConsole;
let browser: Browser;
let opened: ConsolePage;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-scale-'));
  const file = path.join(folder, 'control.ndjson');
  writeFileSync(file, tenantLines());
  [served, browser] = await Promise.all([
    serveConsole({ yaml: configuration(), env: { CONTROL_DATA: 'true', CONTROL_FILE: file } }),
    openBrowser(),
  ]);
  for (let request = 0; request < DENIED_REQUESTS; request += 1) {
    const merchants = Array.from({ length: DENIED_AT_ONCE }, (_, i) => ['merchant', `t${request * DENIED_AT_ONCE + i}`] as const);
    expect(await served.ask(merchants, { domain: 'many', hits: 11 })).toBe('OVER_LIMIT');
  }
  await served.ask([['k7', 'a']], { domain: 'many' });
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/top', query: 'question=denied&count=100' });
    return (json as { readonly items: readonly unknown[] }).items.length >= 50;
  });
  opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  // The last part of the first page: its requests are not those of the next page.
  await opened.page.getByRole('heading', { name: 'Who is denied' }).waitFor();
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
  rmSync(folder, { recursive: true, force: true });
});

function configuration(): string {
  const rules = Array.from(
    { length: RULES - 1 },
    (_, i) => `  - { key: k${i}, rate_limit: { unit: minute, requests_per_unit: ${i + 1} } }`,
  );
  return [
    'domain: many',
    'plans:',
    '  small: { rate_limit: { name: small_plan, unit: minute, requests_per_unit: 10 } }',
    'descriptors:',
    '  - { key: merchant, tenant: true, default_plan: small }',
    ...rules,
    '',
  ].join('\n');
}

function tenantLines(): string {
  const lines = [JSON.stringify({ weir_control: 1, epoch: 'scale' })];
  for (let i = 0; i < TENANTS; i += 1)
    lines.push(
      JSON.stringify({ version: i + 1, at: 1_700_000_000_000, put: [{ kind: 'tenant', domain: 'many', tenant: `t${i}`, plan: 'small' }] }),
    );
  return `${lines.join('\n')}\n`;
}

/** Goes to a page, waits for its content, and says what that took. */
async function show(page: Page, { name, content }: { readonly name: string; readonly content: string }): Promise<void> {
  let requests = 0;
  const count = (): void => {
    requests += 1;
  };
  page.on('request', count);
  const begunMs = performance.now();
  await page.getByRole('link', { name, exact: true }).click();
  // The page before may show the same text.
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await page.getByText(content).first().waitFor();
  const ms = performance.now() - begunMs;
  page.off('request', count);
  const elements = await elementsOf(page);
  figure(`${name}: ${Math.round(ms)} ms, ${requests} requests, ${elements} elements`);
  expect(requests).toBeLessThanOrEqual(REQUESTS_MAX);
  expect(elements).toBeLessThanOrEqual(ELEMENTS_MAX);
}

function elementsOf(page: Page): Promise<number> {
  return page.evaluate('document.querySelectorAll("*").length');
}

test('1,000 rules are paged and searched, and those that nobody matched are found', async () => {
  const { page, faults } = opened;
  await show(page, { name: 'Rules', content: '1,000 of 1,000 rules' });
  await page.getByText('Page 1 of 10').waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('rowheader', { name: 'many k100', exact: true }).waitFor();
  await page.getByLabel('Find').fill('k99');
  await page.getByText('10 of 1,000 rules').waitFor();
  await page.getByLabel('Find').fill('');
  await page.getByLabel('Show').selectOption({ label: 'without a match' });
  await page.getByText('998 of 1,000 rules').waitFor();
  expect(await elementsOf(page)).toBeLessThanOrEqual(ELEMENTS_MAX);
  expect(faults).toEqual([]);
});

test('100,000 tenants are paged, and each is found by its name', async () => {
  const { page, faults } = opened;
  await show(page, { name: 'Tenants', content: 'Next page' });
  expect(await page.getByRole('rowheader').count()).toBeGreaterThanOrEqual(100);
  const first = await page.getByRole('rowheader').first().textContent();
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  expect(await page.getByRole('rowheader').first().textContent()).not.toBe(first);
  expect(await elementsOf(page)).toBeLessThanOrEqual(ELEMENTS_MAX);
  await page.getByLabel('Tenant or descriptor').fill('t99999');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { level: 1, name: 't99999' }).waitFor();
  await page.getByRole('rowheader', { name: 'small_plan' }).waitFor();
  expect(faults).toEqual([]);
});

test('of a thousand denied tenants the page shows those that are denied most', async () => {
  const { page, faults } = opened;
  await show(page, { name: 'Who is limited', content: 'merchant=t' });
  await page.getByRole('rowheader').nth(49).waitFor();
  expect(await page.getByRole('rowheader').count()).toBe(50);
  expect(faults).toEqual([]);
});
