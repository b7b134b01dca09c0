/** The page of a tenant shows the tenants above and below it with what is left, and a change of its plan leaves it there. */

import type { Browser } from 'playwright-core';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

const YAML = `
domain: llm
plans:
  seat: { rate_limit: { name: seat, unit: day, requests_per_unit: 10 } }
  big: { rate_limit: { name: big, unit: day, requests_per_unit: 50 } }
  org: { pool: [{ name: org_pool, unit: day, requests_per_unit: 100 }], members: seat }
descriptors: [{ key: caller, tenant: true, default_plan: seat }]
`;

let served: ServedConsole;
let browser: Browser;
let opened: ConsolePage;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole({ yaml: YAML }), openBrowser()]);
  await place('org', { plan: 'org' });
  for (let i = 10; i < 35; i += 1) await place(`u${i}`, { parent: 'org' });
  opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

async function place(tenant: string, body: object): Promise<void> {
  const { status } = await served.admin({ method: 'PUT', path: `/v1/tenants/llm/${tenant}`, body });
  expect(status).toBe(200);
}

test('an organization shows its members in pages with what is left, and a member its organization', async () => {
  const { page } = opened;
  await until(async () => (await served.ask([['caller', 'u10']], { domain: 'llm', hits: 7 })) === 'OK');
  await page.goto(`${served.url}/#/tenant?domain=llm&tenant=org`);
  const tree = page.getByRole('region', { name: 'Tenants above and below' });
  await tree.getByRole('row', { name: /^org org 25 pool org_pool 100 per day 93 of 100/ }).waitFor();
  await tree.getByRole('row', { name: /^u10 seat \(of org\) 0 seat 10 per day 3 of 10/ }).waitFor();
  expect(await tree.getByRole('row').count()).toBe(22);
  await tree.getByRole('button', { name: 'Next tenants below' }).click();
  await tree.getByRole('row', { name: /^u34 / }).waitFor();
  await tree.getByRole('button', { name: 'First tenants below' }).click();
  await tree.getByRole('link', { name: 'u10' }).click();
  await page.getByRole('heading', { level: 1, name: 'u10' }).waitFor();
  await page.getByText('which the plan of org names for members').waitFor();
  await page.getByRole('rowheader', { name: 'org_pool, pool of org' }).waitFor();
  await tree.getByRole('link', { name: 'org', exact: true }).waitFor();
});

test('a change of the plan keeps the parent', async () => {
  const { page } = opened;
  await page.getByRole('button', { name: 'Plan…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Plan').fill('big');
  await dialog.getByLabel('Reason').fill('grown');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('The dry run says').waitFor();
  await dialog.getByRole('button', { name: 'Write the plan' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { json } = await served.admin({ path: '/v1/tenants/llm/u10' });
  expect(json).toMatchObject({ plan: 'big', parent: 'org' });
  expect(opened.faults).toEqual([]);
});
