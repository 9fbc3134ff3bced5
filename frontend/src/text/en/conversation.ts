export const conversation = {
  title: "Conversation",
};
