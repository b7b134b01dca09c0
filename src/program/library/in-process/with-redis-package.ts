/** Explains the absence of the package @redis/client, which programs install only if they count in Redis. */

/** The major version that package.json names; a test compares them. */
export const REDIS_MAJOR = 6;

/** @throws TypeError if the package is missing */
export async function withRedisPackage<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const { code, message = '' } = error as Partial<NodeJS.ErrnoException>;
    if (code !== 'MODULE_NOT_FOUND' || !message.includes("'@redis/client'")) throw error;
    throw new TypeError(
      `store.redis needs the package @redis/client, which is not installed; run npm install @redis/client@${REDIS_MAJOR}`,
      {
        cause: error,
      },
    );
  }
}
