/** The npm packages for programs that decide or ask: what each exports. They hold compiled files of src/program/library and of what these load. */

/** @typedef {{ readonly name: string, readonly description: string, readonly exports: Readonly<Record<string, string>>, readonly folders: readonly string[], readonly optional: readonly string[] }} LibraryPackage */

/** The middleware loads no other package, so both have it. */
const MIDDLEWARE = {
  './express': 'program/library/middleware/express',
  './fastify': 'program/library/middleware/fastify',
  './hono': 'program/library/middleware/hono',
  './koa': 'program/library/middleware/koa',
};

/**
 * By the folder that the build writes. `exports` names sources without their ending, `folders` what is copied beside dist/, and `optional`
 * the packages that a program installs itself if it uses what needs them.
 *
 * @type {Readonly<Record<string, LibraryPackage>>}
 */
export const LIBRARY_PACKAGES = {
  client: {
    name: '@weir-rls/client',
    description: 'Asks the rate limit service Weir, with middleware for Express, Fastify, Hono and Koa.',
    exports: { '.': 'program/library/client/create-client', ...MIDDLEWARE },
    folders: [],
    optional: [],
  },
  limiter: {
    name: '@weir-rls/limiter',
    description: 'The rate-limit decisions of Weir in a Node process, with middleware for Express, Fastify, Hono and Koa.',
    exports: { '.': 'program/library/in-process/create-limiter', ...MIDDLEWARE },
    folders: ['lua'],
    optional: ['@redis/client', '@aws-sdk/credential-provider-node', '@azure/msal-node', '@smithy/signature-v4'],
  },
};
