/** The console shows both parts of a rollout, and an admin steps it and takes it back by a click. */

import type { Browser } from 'playwright-core';
import { openBrowser, openConsole } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

/** Under the candidate a second hit is denied. */
const CONFIG = `
domain: payments
descriptors:
  - key: merchant
    rate_limit:
      unit: year
      requests_per_unit: 1000
      candidate: { requests_per_unit: 1, rollout: { by: merchant, percent: 50 } }
`;

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole({ yaml: CONFIG, env: { CONTROL_DATA: 'true' } }), openBrowser()]);
  for (let i = 0; i < 20; i += 1) await served.ask([['merchant', `m${i}`]], { hits: 2 });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

async function openRollouts(role: keyof typeof CONSOLE_TOKENS) {
  const opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS[role] });
  await opened.page.goto(`${served.url}/#/rollouts`);
  await opened.page.getByRole('rowheader', { name: 'merchant', exact: true }).waitFor();
  return opened;
}

const percentNow = async () => {
  const { json } = await served.admin({ path: '/v1/rollout-status' });
  return (json as { readonly items: readonly { readonly percent: number }[] }).items[0]?.percent;
};

test('both parts stand side by side with the keys that the candidate denies, and a viewer changes nothing', async () => {
  const { page, faults, close } = await openRollouts('viewer');
  try {
    const row = page.getByRole('row').filter({ hasText: '1,000 per year → 1 per year' });
    await row.getByText('50 % of merchant').waitFor();
    await row.getByText('100 %', { exact: true }).waitFor();
    await row.getByText(/^0 % to [\d.]+ % of \d+$/).waitFor();
    await page
      .getByRole('rowheader', { name: /^merchant=m\d+$/ })
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: /^(Step|Stop)/ }).count()).toBe(0);
    expect(faults).toEqual([]);
  } finally {
    await close();
  }
});

test('a click steps a rollout, another one takes it back', async () => {
  const { page, faults, close } = await openRollouts('admin');
  try {
    await page.getByRole('button', { name: 'Step merchant to 100 %' }).click();
    await until(async () => (await percentNow()) === 100);
    await page.getByText('100 % of merchant').waitFor();
    await page.getByRole('button', { name: 'Stop merchant' }).click();
    await page.getByText('taken back').waitFor();
    expect(await percentNow()).toBe(0);
    expect(faults).toEqual([]);
  } finally {
    await close();
  }
});
