/** Fetches a file of the page on demand; after the first visit it is there without a network. */
export async function fetched<T>(address: string): Promise<T> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`a part of the page could not be loaded (${answer.status})`);
  return (await answer.json()) as T;
}
