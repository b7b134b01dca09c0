/** Support sets overrides, blocks and credits in the console by keyboard alone, and each role sees only what it may do. */

import type { Browser, Page } from 'playwright-core';
import { writeDescriptor } from '../../src/administration/console/api/descriptor-text';
import { axe, openBrowser, openConsole, tabTo } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

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

/** Uses up the free plan of the merchant, and waits until the top keys show it. */
async function deny(merchant: string): Promise<void> {
  expect(await served.ask([['merchant', merchant]], { hits: 100 })).toBe('OK');
  expect(await served.ask([['merchant', merchant]], { hits: 60 })).toBe('OVER_LIMIT');
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/top', query: 'question=denied&count=100' });
    return (json as { readonly items: readonly { readonly entries: string }[] }).items.some(
      ({ entries }) => entries === `merchant=${merchant}`,
    );
  });
}

async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/** Fills the dialog by keyboard: only the reason has no default. */
async function writeBy(page: Page, reason: string): Promise<void> {
  await tabTo(page, 'Reason');
  await page.keyboard.type(reason);
  await page.keyboard.press('Enter');
  await page.getByText('The dry run says').waitFor();
  // The focus is on the button that writes.
  await page.keyboard.press('Enter');
  await page.getByText('The change is written.').waitFor();
}

test('by keyboard alone: from who is limited to the tenant, an override, a block and its end, a credit', async () => {
  await deny('merchant_k');
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await press(page, 'Who is limited');
  await page.getByRole('group', { name: 'Denied most' }).getByRole('link', { name: 'merchant=merchant_k' }).waitFor();
  await press(page, 'merchant=merchant_k');
  await page.getByText('free_plan').first().waitFor();

  await press(page, 'Override…');
  await writeBy(page, 'sale');
  await until(async () => (await served.ask([['merchant', 'merchant_k']], { hits: 90 })) === 'OK');
  await page.getByRole('button', { name: 'End the override' }).waitFor();

  await press(page, 'Block…');
  await writeBy(page, 'fraud');
  await until(async () => (await served.ask([['merchant', 'merchant_k']])) === 'OVER_LIMIT');
  await press(page, 'End the block');
  await writeBy(page, 'no fraud');
  await until(async () => (await served.ask([['merchant', 'merchant_k']])) === 'OK');

  await press(page, 'Credit…');
  await writeBy(page, 'sorry');
  const { json } = await served.admin({ path: '/v1/audit' });
  const entries = (json as { readonly items: readonly { readonly author: string; readonly reason?: string }[] }).items;
  expect(entries.map(({ author, reason }) => `${author}: ${reason ?? ''}`)).toEqual([
    'support-1: sorry',
    'support-1: no fraud',
    'support-1: fraud',
    'support-1: sale',
  ]);
  await page.getByRole('rowheader', { name: 'support-1' }).first().waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('a dry run changes nothing, and shows the end of the override and its limit', async () => {
  const { page, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_d`);
  await page.getByRole('button', { name: 'Override…' }).click();
  await page.getByLabel('Requests').fill('250');
  await page.getByLabel('Reason').fill('sale');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('cell', { name: '250 per minute' }).waitFor();
  const { json } = await served.admin({ path: '/v1/overrides' });
  expect(JSON.stringify(json)).not.toContain('merchant_d');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await close();
});

test.each([
  ['viewer', false],
  ['support', true],
  ['admin', true],
] as const)('the role %s sees what it may do', async (role, mayChange) => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS[role] });
  await page.getByText(role, { exact: true }).waitFor();
  expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(mayChange ? 1 : 0);
  await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_r`);
  await page.getByRole('heading', { name: 'Limits in force' }).waitFor();
  expect(await page.getByRole('button', { name: 'Override…' }).count()).toBe(mayChange ? 1 : 0);
  expect(await page.getByRole('heading', { name: 'Audit' }).count()).toBe(mayChange ? 1 : 0);
  expect(faults).toEqual([]);
  await close();
});

test('a role that shrinks meanwhile: the refusal is shown, and the buttons go', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_s`);
  await page.getByRole('button', { name: 'Block…' }).click();
  await page.getByLabel('Reason').fill('fraud');
  served.setRoles({ support: 'viewer' });
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/whoami', token: CONSOLE_TOKENS.support });
    return (json as { readonly role: string }).role === 'viewer';
  });
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('your role does not allow it').waitFor();
  await page.getByRole('button', { name: 'Block…' }).waitFor({ state: 'detached' });
  expect(await page.getByRole('button', { name: 'Override…' }).count()).toBe(0);
  expect(faults).toEqual([]);
  served.setRoles({});
  await close();
});

/** Texts that would run, or break the page, if they were taken as HTML or as a part of an address. */
const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg/onload=alert(1)>',
  "javascript:alert(1)//'",
  '{{constructor.constructor("alert(1)")()}}',
  '%3Cscript%3Ealert(1)%3C/script%3E',
  '\u202Egnp.exe#?&=%00,;',
];

test('hostile keys, values, tenants and reasons are only text', async () => {
  for (const [index, text] of HOSTILE.entries()) {
    const entries = [{ key: 'merchant', value: text }];
    const tenant = encodeURIComponent(text);
    expect(
      (await served.admin({ method: 'PUT', path: `/v1/tenants/payments/${tenant}`, body: { plan: 'free', reason: text } })).status,
    ).toBe(200);
    expect(
      (
        await served.admin({
          method: 'PUT',
          path: `/v1/overrides/payments/x${index}`,
          body: { entries, limit: { requests_per_unit: 1, unit: 'minute' }, reason: text },
        })
      ).status,
    ).toBe(200);
    for (const hits of [100, 60]) await served.ask([['merchant', text]], { hits });
  }
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/top', query: 'question=denied&count=100' });
    const texts = new Set((json as { readonly items: readonly { readonly entries: string }[] }).items.map(({ entries }) => entries));
    return HOSTILE.every((value) => texts.has(writeDescriptor([{ key: 'merchant', value }])));
  });
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin });
  const isShown = async (text: string): Promise<void> => {
    await page.getByText(text, { exact: true }).first().waitFor();
  };
  await page.goto(`${served.url}/#/tenants`);
  for (const text of HOSTILE) await isShown(text);
  await page.goto(`${served.url}/#/audit`);
  for (const text of HOSTILE) await isShown(text);
  await page.goto(`${served.url}/#/limited`);
  for (const value of HOSTILE) await isShown(writeDescriptor([{ key: 'merchant', value }]));
  for (const text of HOSTILE) {
    const descriptor = encodeURIComponent(writeDescriptor([{ key: 'merchant', value: text }]));
    await page.goto(`${served.url}/#/tenant?domain=payments&entries=${descriptor}`);
    await page.getByRole('heading', { level: 1, name: text }).waitFor();
    await page.getByRole('heading', { name: 'Limits in force' }).waitFor();
    await page.goto(`${served.url}/#/try?domain=payments&d=${descriptor}`);
    await page.getByRole('heading', { name: 'Verdict' }).waitFor();
  }
  expect(await page.locator('script:not([src]), img, iframe, object').count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test('a shared address of Try explains at once: the winner, the losers, the record and the bucket', async () => {
  await served.admin({
    method: 'PUT',
    path: '/v1/blocks/payments/try-1',
    body: { entries: [{ key: 'merchant', value: 'merchant_7' }], reason: 'test' },
  });
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  await page.goto(`${served.url}/#/try`);
  // The domains come after the form, and are asked about only then.
  await page.getByRole('option', { name: 'payments' }).waitFor({ state: 'attached' });
  await page.getByLabel('Descriptors').fill('merchant=merchant_7\nendpoint=/pay');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('OVER_LIMIT: the request would be denied').waitFor();
  const shared = page.url();
  await page.goto('about:blank');
  await page.goto(shared);
  await page.getByText('OVER_LIMIT: the request would be denied').waitFor();
  await page.getByText('block try-1').waitFor();
  await page.getByText('contract_7').waitFor();
  expect(await page.getByText('wins', { exact: true }).count()).toBe(2);
  expect(await page.getByText('loses', { exact: true }).count()).toBeGreaterThan(0);
  // A blocked request is denied at every rate.
  await page.getByLabel('Requests a second').fill('2');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByRole('img', { name: '0 of 120 requests would be admitted, 120 denied, from full buckets.' }).waitFor();
  await page.getByLabel('Requests a second').fill('many');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText('per_second').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('while the API is away the console says so, and goes on when it is back', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer });
  await page.goto(`${served.url}/#/instances`);
  await page.getByText('serves').waitFor();
  await served.weir().stop();
  await page.getByText('The admin API does not answer.').waitFor();
  await page.getByText('serves').waitFor();
  await served.restart();
  // The session ended with its process.
  await page.getByText('The session has ended. Sign in again to go on here.').waitFor();
  await page.getByLabel('Token').fill(CONSOLE_TOKENS.viewer);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Instances' }).waitFor();
  expect(faults.filter((fault) => !fault.includes('ERR_'))).toEqual([]);
  await close();
});

/** Every request of the admin API waits until the returned function is called. */
async function holdAnswers(page: Page): Promise<() => void> {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/v1/**', async (route) => {
    await released;
    // The page may have given it up meanwhile.
    await route.continue().catch(() => undefined);
  });
  return release;
}

test('while the API is slow the console says so, and goes on: pages change, a dialog closes, answers come late', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.support });
  await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_l`);
  await page.getByRole('heading', { name: 'Limits in force' }).waitFor();
  const release = await holdAnswers(page);
  await page.getByRole('button', { name: 'Block…' }).click();
  await page.getByLabel('Reason').fill('fraud');
  await page.getByRole('button', { name: 'Preview' }).click();
  const says = page.getByText('The admin API is slow: its answers take more than 2 s.');
  await says.waitFor();
  expect(await page.getByRole('button', { name: 'Preview' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('rowheader', { name: 'free_plan' }).waitFor();
  expect(await axe(page)).toEqual([]);
  await page.getByRole('link', { name: 'Instances' }).click();
  await page.getByRole('heading', { level: 1, name: 'Instances' }).waitFor();
  await says.waitFor();
  release();
  await page.getByText('serves').waitFor();
  await says.waitFor({ state: 'detached' });
  const { json } = await served.admin({ path: '/v1/blocks' });
  expect(JSON.stringify(json)).not.toContain('merchant_l');
  expect(faults).toEqual([]);
  await close();
});

test('an API that is slow from the start is waited for, and the page says so', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url });
  await page.getByLabel('Token').waitFor();
  const release = await holdAnswers(page);
  await page.reload();
  await page.getByText('The admin API is slow. The console waits for its answer.').waitFor();
  release();
  await page.getByLabel('Token').waitFor();
  expect(faults).toEqual([]);
  await close();
});
