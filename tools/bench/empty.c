/* A process that does nothing: what a start costs without us. */
int main(void)
{
    return 0;
}
