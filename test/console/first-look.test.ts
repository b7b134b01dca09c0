/** The sign-in of the console explains tokens and roles, and every page fits a width of 400 px. */

import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { runCommand } from '../support/processes/command';
import { openBrowser, openConsole, type ConsolePage } from '../support/console/browser';
import { CONSOLE_TOKENS, serveConsole, type ServedConsole } from '../support/console/served-console';
import { until } from '../support/clock/until';

const STARTED_WITHIN_MS = 90_000;

/** Four lines of text with their padding. */
const ROW_PX_MAX = 96;

const TEXT = { key: 'merchant', value: 'merchant_9' };

let served: ServedConsole;
let browser: Browser;

beforeAll(async () => {
  [served, browser] = await Promise.all([serveConsole(), openBrowser()]);
  await served.admin({ method: 'PUT', path: '/v1/tenants/payments/merchant_8', body: { plan: 'enterprise', reason: 'contract' } });
  const override = { entries: [TEXT], limit: { requests_per_unit: 300, unit: 'minute' }, reason: 'a sale until Friday' };
  await served.admin({ method: 'PUT', path: '/v1/overrides/payments/o-1', body: override });
  await until(async () => (await served.ask([[TEXT.key, TEXT.value]], { hits: 250 })) === 'OK');
  await served.ask([[TEXT.key, TEXT.value]], { hits: 250 });
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/top', query: 'question=denied' });
    return (json as { readonly items: readonly unknown[] }).items.length > 0;
  });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await served.close();
});

test('the sign-in says what a token is, where it comes from, and what roles may do', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url });
  await page.getByRole('heading', { name: 'How to get one' }).waitFor();
  for (const role of ['viewer', 'support', 'admin']) await page.getByText(role, { exact: true }).waitFor();
  await page.getByLabel('Token').fill('not-a-token-0123456789abcdef01234567');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This token is wrong, or has expired.').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('the commands of the sign-in page make a token that signs in', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url });
  await page.getByText('You run this Weir?').click();
  const commands = (await page.locator('.help pre').innerText()).replace('/etc/weir/tokens', served.tokensFile);
  const { stdout } = await runCommand('sh', ['-c', commands]);
  // A known token shows when the file is read: tries with an unknown one are counted.
  writeFileSync(served.tokensFile, readFileSync(served.tokensFile, 'utf8').replace('viewer-1 viewer', 'viewer-1 support'));
  await until(async () => {
    const { json } = await served.admin({ path: '/v1/whoami', token: CONSOLE_TOKENS.viewer });
    return (json as { readonly role: string }).role === 'support';
  });
  await page.getByLabel('Token').fill(stdout.trim());
  await page.keyboard.press('Enter');
  await page.getByText('ann', { exact: true }).waitFor();
  await page.getByText('support', { exact: true }).waitFor();
  served.setRoles({});
  expect(faults).toEqual([]);
  await close();
});

function ground(page: Page): Promise<string> {
  return page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
}

test('the theme follows the system until somebody chooses one, which stays', async () => {
  const { page, faults, close } = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.viewer, colorScheme: 'light' });
  const light = await ground(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await until(async () => (await ground(page)) !== light);
  await page.getByLabel('Theme').selectOption('light');
  expect(await ground(page)).toBe(light);
  await page.reload();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  expect(await ground(page)).toBe(light);
  expect(faults).toEqual([]);
  await close();
});

describe('at 400 px', () => {
  let opened: ConsolePage;

  beforeAll(async () => {
    opened = await openConsole(browser, { url: served.url, token: CONSOLE_TOKENS.admin, viewport: { width: 400, height: 800 } });
  });

  afterAll(() => opened.close());

  test.each([
    ['limited', 'merchant=merchant_9'],
    ['tenants', 'merchant_8'],
    ['tenant?domain=payments&entries=merchant%3Dmerchant_9', 'Limits in force'],
    ['exceptions', 'o-1'],
    ['rules', 'endpoint'],
    ['try?domain=payments&d=merchant%3Dmerchant_9', 'Verdict'],
    ['audit', 'merchant_8'],
    ['instances', 'serves'],
  ])('the page "%s" has no row of more than four lines, and cuts no text of a choice', async (address, content) => {
    const { page, faults } = opened;
    await page.goto(`${served.url}/#/${address}`);
    await page.getByText(content).first().waitFor();
    const heights: number[] = await page.evaluate(
      `[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height)`,
    );
    expect(heights.length).toBeGreaterThan(0);
    expect(Math.max(...heights)).toBeLessThanOrEqual(ROW_PX_MAX);
    expect(await cutChoices(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('a dialog cuts no text of a choice', async () => {
    const { page } = opened;
    await page.goto(`${served.url}/#/tenant?domain=payments&entries=merchant%3Dmerchant_8`);
    await page.getByRole('button', { name: 'Override…' }).click();
    await page.getByRole('dialog').getByLabel('Limit').waitFor();
    expect(await cutChoices(page)).toEqual([]);
  });
});

/** Texts of options that are wider than their select, which has an arrow too. */
function cutChoices(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const canvas = document.createElement('canvas').getContext('2d');
    return [...document.querySelectorAll('select')].flatMap((select) => {
      const style = getComputedStyle(select);
      canvas.font = style.font;
      const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 16;
      return [...select.options].map(({ text }) => text).filter((text) => canvas.measureText(text).width > room);
    });
  })()`);
}
