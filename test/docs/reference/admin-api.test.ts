/** The page of the admin API lists exactly its routes, and its examples work. */

import { readFileSync } from 'node:fs';
import { renderAdminDoc } from '../../../scripts/generate/docs/admin-doc';
import { callAdmin } from '../../support/admin/admin-client';
import { startAdminServer, TOKENS } from '../../support/admin/admin-server';

const PAGE = readFileSync('docs/admin-api.md', 'utf8');

test('the tables are what the routes make', () => {
  if (PAGE !== renderAdminDoc(PAGE)) throw new Error('docs/admin-api.md is out of date; run node scripts/generate/docs.mjs');
});

/** The curl commands of the page, except the live tail. */
function examples() {
  const commands = PAGE.replace(/\\\n\s*/g, '').matchAll(/^ {4}curl (?:-X (\w+) )?localhost:8090(\S+) (.*)$/gm);
  return Array.from(commands, ([, method, path = '', rest = '']) => {
    const body = /-d '(.*)'/.exec(rest)?.[1];
    return { method: method ?? (body === undefined ? 'GET' : 'POST'), path, rawBody: body };
  });
}

test('the examples are answered, and the block of the first one denies', async () => {
  const server = await startAdminServer();
  try {
    const replies = [];
    for (const { method, path, rawBody } of examples()) {
      replies.push(await callAdmin(server.url, { method, path, token: TOKENS.support, ...(rawBody !== undefined && { rawBody }) }));
    }
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(replies[1]!.json).toMatchObject({ over_limit: true, control: [{ kind: 'block', id: 'fraud-42' }] });
  } finally {
    await server.close();
  }
});
